// node-rdkafka with librdkafka's statistics, exported by node-rdkafka-prometheus as its README says.

'use strict'

const { KafkaConsumer } = require('node-rdkafka')
const RdkafkaStats = require('node-rdkafka-prometheus')
const { register } = require('prom-client')

const pod = require('../../lab/consumers/settings.cjs')
const handle = require('./handle.cjs')
const serve = require('./serve.cjs')

const STATISTICS_EVERY_MS = 1000
const CONSUME_TIMEOUT_MS = 100

const stats = new RdkafkaStats()
const consumer = new KafkaConsumer(
  pod.given({
    'bootstrap.servers': pod.brokers,
    'client.id': pod.clientId,
    'group.id': pod.groupId,
    'session.timeout.ms': pod.milliseconds('KAFKA_SESSION_TIMEOUT_MS'),
    'heartbeat.interval.ms': pod.milliseconds('KAFKA_HEARTBEAT_INTERVAL_MS'),
    'max.poll.interval.ms': pod.milliseconds('KAFKA_MAX_POLL_INTERVAL_MS'),
    'statistics.interval.ms': STATISTICS_EVERY_MS,
  }),
  { 'auto.offset.reset': 'earliest' },
)

async function consume() {
  for (;;) {
    const messages = await new Promise(resolve => consumer.consume(1, (_, found) => resolve(found ?? [])))
    for (const message of messages) {
      await handle(message.value)
    }
  }
}

consumer.on('event.stats', event => stats.observe(JSON.parse(event.message)))
consumer.on('ready', () => {
  consumer.setDefaultConsumeTimeout(CONSUME_TIMEOUT_MS)
  consumer.subscribe([pod.topic])
  consume()
})
serve(register)
pod.closeOnSignal(() => new Promise(resolve => consumer.disconnect(resolve)))
consumer.connect()
