// KafkaJS: `eachMessage`, as most people use it.

'use strict'

const { Kafka, logLevel } = require('kafkajs')
const lab = require('./settings.cjs')

const kafka = new Kafka({ clientId: lab.clientId, brokers: lab.brokers.split(','), logLevel: logLevel.WARN })
const consumer = kafka.consumer(
  lab.given({
    groupId: lab.groupId,
    sessionTimeout: lab.milliseconds('KAFKA_SESSION_TIMEOUT_MS'),
    heartbeatInterval: lab.milliseconds('KAFKA_HEARTBEAT_INTERVAL_MS'),
    maxWaitTimeInMs: lab.milliseconds('KAFKA_MAX_WAIT_TIME_MS'),
    rebalanceTimeout: lab.milliseconds('KAFKA_REBALANCE_TIMEOUT_MS'),
  }),
)

async function run() {
  await consumer.connect()
  await consumer.subscribe({ topics: [lab.topic], fromBeginning: true })
  await consumer.run({ eachMessage: lab.handle })
}

lab.closeOnSignal(() => consumer.disconnect())
run().catch(error => {
  console.error(error.message)
  process.exit(1)
})
