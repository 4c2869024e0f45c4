// KafkaJS as people export it: @christiangalsterer/kafkajs-prometheus-exporter and prom-client's metrics of the process.
//
// The sandbox's own consumer adds counters of joins, rebalances and requests; this one has what comes out of the box.
// CLIENT_ID_LABEL=1 adds the client id as a default label, as the exporter's README advises.

'use strict'

const net = require('node:net')

const { monitorKafkaJSConsumer } = require('@christiangalsterer/kafkajs-prometheus-exporter')
const { Kafka, logLevel } = require('kafkajs')
const { Registry, collectDefaultMetrics } = require('prom-client')

const pod = require('../../lab/consumers/settings.cjs')
const handle = require('./handle.cjs')
const serve = require('./serve.cjs')

/** Connect from the pod's own address, by which the broker tells members apart as it does on a cluster. */
function socketFactory({ host, port, onConnect }) {
  const socket = net.connect({ host, port, localAddress: process.env.POD_IP }, onConnect)
  socket.setKeepAlive(true, 60000)
  return socket
}

const kafka = new Kafka({
  clientId: pod.clientId,
  brokers: pod.brokers.split(','),
  logLevel: logLevel.WARN,
  socketFactory,
})
const consumer = kafka.consumer(
  pod.given({
    groupId: pod.groupId,
    sessionTimeout: pod.milliseconds('KAFKA_SESSION_TIMEOUT_MS'),
    heartbeatInterval: pod.milliseconds('KAFKA_HEARTBEAT_INTERVAL_MS'),
    maxWaitTimeInMs: pod.milliseconds('KAFKA_MAX_WAIT_TIME_MS'),
    rebalanceTimeout: pod.milliseconds('KAFKA_REBALANCE_TIMEOUT_MS'),
  }),
)

async function run() {
  await consumer.connect()
  await consumer.subscribe({ topics: [pod.topic], fromBeginning: true })
  await consumer.run({ eachMessage: ({ message }) => handle(message.value) })
}

const registry = new Registry()
collectDefaultMetrics({ register: registry })
const defaultLabels = process.env.CLIENT_ID_LABEL === '1' ? { client_id: pod.clientId } : {}
monitorKafkaJSConsumer(consumer, registry, { defaultLabels })
serve(registry)
pod.closeOnSignal(() => consumer.disconnect())
run().catch(error => {
  console.error(error.message)
  process.exit(1)
})
