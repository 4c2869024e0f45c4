// KafkaJS whose handler fails for good: it retries, leaves the group, and starts its consumer again within the process.
// `kafkajs` is found by NODE_PATH.

'use strict'

const { Kafka, logLevel } = require('kafkajs')

const kafka = new Kafka({
  clientId: process.env.KAFKA_CLIENT_ID,
  brokers: process.env.KAFKA_BROKERS.split(','),
  logLevel: logLevel.WARN,
})
const consumer = kafka.consumer({
  groupId: process.env.KAFKA_GROUP_ID,
  sessionTimeout: Number(process.env.KAFKA_SESSION_TIMEOUT_MS),
  heartbeatInterval: Number(process.env.KAFKA_HEARTBEAT_INTERVAL_MS),
})

async function run() {
  await consumer.connect()
  await consumer.subscribe({ topics: [process.env.KAFKA_TOPIC], fromBeginning: true })
  await consumer.run({
    eachMessage: async () => {
      throw new Error('this message cannot be handled')
    },
  })
}

process.once('SIGTERM', () => consumer.disconnect().finally(() => process.exit(0)))
run().catch(error => {
  console.error(error.message)
  process.exit(1)
})
