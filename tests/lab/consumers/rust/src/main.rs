//! rust-rdkafka: receive and handle.

use std::env;
use std::time::{Duration, Instant};

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{Consumer, StreamConsumer};
use tokio::signal::unix::{signal, SignalKind};

const NAMES: [(&str, &str); 4] = [
    ("session.timeout.ms", "KAFKA_SESSION_TIMEOUT_MS"),
    ("heartbeat.interval.ms", "KAFKA_HEARTBEAT_INTERVAL_MS"),
    ("fetch.wait.max.ms", "KAFKA_FETCH_WAIT_MAX_MS"),
    ("max.poll.interval.ms", "KAFKA_MAX_POLL_INTERVAL_MS"),
];

fn text(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set, but the consumer needs it."))
}

async fn handle() {
    let duration = Duration::from_millis(env::var("HANDLER_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(0));
    match env::var("HANDLER").as_deref() {
        Ok("wait") => tokio::time::sleep(duration).await,
        Ok("block") => {
            let until = Instant::now() + duration;
            while Instant::now() < until {}
        }
        Ok("hang") => std::future::pending().await,
        _ => {}
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", text("KAFKA_BROKERS"))
        .set("group.id", text("KAFKA_GROUP_ID"))
        .set("client.id", text("KAFKA_CLIENT_ID"))
        .set("auto.offset.reset", "earliest");
    for (name, variable) in NAMES {
        if let Ok(value) = env::var(variable) {
            config.set(name, value);
        }
    }
    let consumer: StreamConsumer = config.create().expect("the consumer is not made");
    let topic = text("KAFKA_TOPIC");
    consumer.subscribe(&[topic.as_str()]).expect("the topic is not subscribed");
    let mut told = signal(SignalKind::terminate()).expect("SIGTERM is not caught");
    loop {
        tokio::select! {
            _ = told.recv() => return, // dropping the consumer closes it
            received = consumer.recv() => if received.is_ok() { handle().await },
        }
    }
}
