// confluent-kafka for JavaScript, by its KafkaJS-like API, or by librdkafka's own names with STYLE=librdkafka.

'use strict'

const { KafkaJS } = require('@confluentinc/kafka-javascript')
const lab = require('./settings.cjs')

const own = lab.given({
  'group.protocol': lab.protocol,
  'auto.offset.reset': 'earliest',
  ...(process.env.STYLE === 'librdkafka' && {
    'session.timeout.ms': lab.milliseconds('KAFKA_SESSION_TIMEOUT_MS'),
    'heartbeat.interval.ms': lab.milliseconds('KAFKA_HEARTBEAT_INTERVAL_MS'),
    'fetch.wait.max.ms': lab.milliseconds('KAFKA_FETCH_WAIT_MAX_MS'),
    'max.poll.interval.ms': lab.milliseconds('KAFKA_MAX_POLL_INTERVAL_MS'),
  }),
})
const alike =
  process.env.STYLE !== 'librdkafka' &&
  lab.given({
    sessionTimeout: lab.milliseconds('KAFKA_SESSION_TIMEOUT_MS'),
    heartbeatInterval: lab.milliseconds('KAFKA_HEARTBEAT_INTERVAL_MS'),
    maxWaitTimeInMs: lab.milliseconds('KAFKA_MAX_WAIT_TIME_MS'),
    rebalanceTimeout: lab.milliseconds('KAFKA_REBALANCE_TIMEOUT_MS'),
  })
const kafka = new KafkaJS.Kafka({ kafkaJS: { brokers: lab.brokers.split(','), clientId: lab.clientId } })
const consumer = kafka.consumer({ kafkaJS: { groupId: lab.groupId, ...alike }, ...own })

async function run() {
  await consumer.connect()
  await consumer.subscribe({ topics: [lab.topic] })
  await consumer.run({ eachMessage: lab.handle })
}

lab.closeOnSignal(() => consumer.disconnect())
run().catch(error => {
  console.error(error.message)
  process.exit(1)
})
