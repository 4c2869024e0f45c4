// confluent-kafka for JavaScript: its KafkaJS-like API, set as KafkaJS is; with API=properties by librdkafka's names;
// with API=callbacks its other API.

'use strict'

const { KafkaConsumer, KafkaJS } = require('@confluentinc/kafka-javascript')
const lab = require('./settings.cjs')

function named() {
  return lab.given({
    'session.timeout.ms': lab.milliseconds('KAFKA_SESSION_TIMEOUT_MS'),
    'heartbeat.interval.ms': lab.milliseconds('KAFKA_HEARTBEAT_INTERVAL_MS'),
    'fetch.wait.max.ms': lab.milliseconds('KAFKA_MAX_WAIT_TIME_MS'),
    'max.poll.interval.ms': lab.milliseconds('KAFKA_REBALANCE_TIMEOUT_MS'),
  })
}

function alike() {
  return lab.given({
    sessionTimeout: lab.milliseconds('KAFKA_SESSION_TIMEOUT_MS'),
    heartbeatInterval: lab.milliseconds('KAFKA_HEARTBEAT_INTERVAL_MS'),
    maxWaitTimeInMs: lab.milliseconds('KAFKA_MAX_WAIT_TIME_MS'),
    rebalanceTimeout: lab.milliseconds('KAFKA_REBALANCE_TIMEOUT_MS'),
  })
}

async function run() {
  const byName = process.env.API === 'properties'
  const kafka = new KafkaJS.Kafka({ kafkaJS: { brokers: lab.brokers.split(','), clientId: lab.clientId } })
  const consumer = kafka.consumer({
    kafkaJS: { groupId: lab.groupId, fromBeginning: true, ...(byName ? {} : alike()) },
    ...(byName ? named() : {}),
    ...lab.given({ 'group.protocol': lab.protocol }),
  })
  lab.closeOnSignal(() => consumer.disconnect())
  await consumer.connect()
  await consumer.subscribe({ topics: [lab.topic] })
  await consumer.run({ eachMessage: lab.handle })
}

if (process.env.API === 'callbacks') {
  require('./callbacks.cjs')(KafkaConsumer)
} else {
  run().catch(error => {
    console.error(error.message)
    process.exit(1)
  })
}
