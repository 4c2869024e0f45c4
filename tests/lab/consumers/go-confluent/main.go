// confluent-kafka-go: poll and handle.
package main

import (
	"log"
	"os"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"heartbeat-tuner.dev/lab/lab"
)

var names = map[string]string{
	"session.timeout.ms":    "KAFKA_SESSION_TIMEOUT_MS",
	"heartbeat.interval.ms": "KAFKA_HEARTBEAT_INTERVAL_MS",
	"fetch.wait.max.ms":     "KAFKA_FETCH_WAIT_MAX_MS",
	"max.poll.interval.ms":  "KAFKA_MAX_POLL_INTERVAL_MS",
}

func main() {
	config := kafka.ConfigMap{
		"bootstrap.servers": lab.Text("KAFKA_BROKERS"),
		"group.id":          lab.Text("KAFKA_GROUP_ID"),
		"client.id":         lab.Text("KAFKA_CLIENT_ID"),
		"auto.offset.reset": "earliest",
	}
	for name, variable := range names {
		if value, found := os.LookupEnv(variable); found {
			config[name] = value
		}
	}
	consumer, err := kafka.NewConsumer(&config)
	if err != nil {
		log.Fatal(err)
	}
	if err := consumer.SubscribeTopics([]string{lab.Text("KAFKA_TOPIC")}, nil); err != nil {
		log.Fatal(err)
	}
	for told := lab.UntilTold(); told.Err() == nil; {
		if _, handed := consumer.Poll(100).(*kafka.Message); handed {
			lab.Handle()
		}
	}
	if err := consumer.Close(); err != nil {
		log.Fatal(err)
	}
}
