// One pod of a KafkaJS consumer group: reads its settings from the environment, consumes, and tells Prometheus.
//
// It is a consumer as people write them: `eachMessage`, automatic commits, KafkaJS' own defaults wherever a variable is
// not set. Two things are the sandbox's: the pod's own loopback address is where its HTTP server listens *and* where its
// broker connections come from, so that the broker tells members apart as it does on a cluster; and it counts what the
// usual exporter leaves out (joins, rebalances, requests by kind), from KafkaJS' instrumentation events.

'use strict'

const http = require('node:http')
const net = require('node:net')
const { setTimeout: sleep } = require('node:timers/promises')

const { monitorKafkaJSConsumer } = require('@christiangalsterer/kafkajs-prometheus-exporter')
const { Kafka } = require('kafkajs')
const { Counter, Registry, Summary } = require('prom-client')

const CONNECT_RETRY_MS = 1000
const KAFKAJS_MAX_WAIT_TIME_MS = 5000
const LEAVE_MARGIN_MS = 3000
const COUNTED_FROM_ZERO = ['JoinGroup', 'SyncGroup', 'Heartbeat', 'LeaveGroup']
const KAFKAJS_QUEUE_CHECK_MS = 100

// Where nothing is queued KafkaJS 2.2.4 asks for a timer in the past (`scheduleCheckPendingRequests`), and asks again when
// it comes. Node makes 1 ms of that: a thousand wake-ups a second for each connection, 2 % of a core for each idle
// consumer. Ten times a second is enough: only requests that the broker throttles are queued.
const startTimer = globalThis.setTimeout
globalThis.setTimeout = (callback, delayMs, ...args) =>
  startTimer(callback, delayMs < 0 ? KAFKAJS_QUEUE_CHECK_MS : delayMs, ...args)

function fail(sentence) {
  console.error(sentence)
  process.exit(1)
}

function text(name) {
  return process.env[name] || fail(`${name} is not set, but the consumer needs it.`)
}

/** The variable as a whole number of at least `least`; `unset` when there is no such variable. */
function number(name, { least = 1, unset } = {}) {
  const value = process.env[name]
  if (value === undefined) {
    return unset
  }
  if (!/^[0-9]{1,15}$/.test(value) || Number(value) < least) {
    const rule = least > 0 ? 'a positive integer' : 'zero or a positive integer'
    fail(`${name} is ${JSON.stringify(value)}, but it must be ${rule}.`)
  }
  return Number(value)
}

function readSettings() {
  return {
    brokers: text('KAFKA_BROKERS').split(','),
    groupId: text('KAFKA_GROUP_ID'),
    topic: text('KAFKA_TOPIC'),
    clientId: text('KAFKA_CLIENT_ID'),
    podIp: text('POD_IP'),
    metricsPort: number('METRICS_PORT') ?? fail('METRICS_PORT is not set, but the consumer needs it.'),
    sessionTimeoutMs: number('KAFKA_SESSION_TIMEOUT_MS'),
    heartbeatIntervalMs: number('KAFKA_HEARTBEAT_INTERVAL_MS'),
    maxWaitTimeMs: number('KAFKA_MAX_WAIT_TIME_MS'),
    handlerMs: number('HANDLER_MS', { least: 0, unset: 0 }),
  }
}

function createConsumer(settings) {
  const socketFactory = ({ host, port, onConnect }) => {
    const socket = net.connect({ host, port, localAddress: settings.podIp }, onConnect)
    socket.setKeepAlive(true, 60000)
    return socket
  }
  const kafka = new Kafka({ clientId: settings.clientId, brokers: settings.brokers, socketFactory })
  return kafka.consumer({
    groupId: settings.groupId,
    sessionTimeout: settings.sessionTimeoutMs,
    heartbeatInterval: settings.heartbeatIntervalMs,
    maxWaitTimeInMs: settings.maxWaitTimeMs,
  })
}

/** Count what KafkaJS reports; returns a function that renders everything for a scrape. */
function instrument(consumer, { clientId, groupId }) {
  const exporter = new Registry()
  exporter.setDefaultLabels({ client_id: clientId })
  monitorKafkaJSConsumer(consumer, exporter)

  // A registry of its own: with the group as a default label every series is there, at 0, before its first event.
  const group = new Registry()
  group.setDefaultLabels({ client_id: clientId, group_id: groupId })
  const joins = new Summary({
    name: 'kafkajs_consumer_group_join_seconds',
    help: 'Time from asking to join the group until the assignment was there',
    percentiles: [],
    registers: [group],
  })
  const rebalancings = new Counter({
    name: 'kafkajs_consumer_rebalancing_total',
    help: 'Times the consumer was told that its group is rebalancing; not after an expired session',
    registers: [group],
  })
  const requests = new Counter({
    name: 'kafkajs_consumer_requests_total',
    help: 'Requests that the broker answered, with or without an error',
    labelNames: ['api_name'],
    registers: [group],
  })
  COUNTED_FROM_ZERO.forEach(api_name => requests.inc({ api_name }, 0))

  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => joins.observe(payload.duration / 1000))
  consumer.on(consumer.events.REBALANCING, () => rebalancings.inc())
  consumer.on(consumer.events.REQUEST, ({ payload }) => requests.inc({ api_name: payload.apiName }))

  return async () => (await exporter.metrics()) + (await group.metrics())
}

/** Serve /metrics, /healthz and /readyz on the pod's address. */
function serve({ podIp, metricsPort }, isReady, renderMetrics) {
  const server = http.createServer(async (request, response) => {
    if (request.url === '/metrics') {
      response.setHeader('Content-Type', Registry.PROMETHEUS_CONTENT_TYPE)
      response.end(await renderMetrics())
    } else if (request.url === '/healthz') {
      response.end('alive\n')
    } else if (request.url === '/readyz') {
      response.statusCode = isReady() ? 200 : 503
      response.end(isReady() ? 'has joined its group\n' : 'has not joined its group yet\n')
    } else {
      response.statusCode = 404
      response.end('not found\n')
    }
  })
  server.on('error', error => fail(`The HTTP server on ${podIp}:${metricsPort} failed: ${error.message}.`))
  server.listen(metricsPort, podIp)
}

/** Connect and subscribe, as often as it takes: KafkaJS restarts a running consumer, but does not keep on connecting. */
async function subscribe(consumer, topic) {
  for (;;) {
    try {
      await consumer.connect()
      await consumer.subscribe({ topic, fromBeginning: true })
      return
    } catch (error) {
      console.error(`Not connected yet: ${error.message}`)
      await sleep(CONNECT_RETRY_MS)
    }
  }
}

/** Leave the group and end; a fetch in flight holds KafkaJS up for the rest of its wait, and no longer than that. */
function endOnSignal(consumer, settings) {
  const longestFetchMs = settings.maxWaitTimeMs ?? KAFKAJS_MAX_WAIT_TIME_MS
  let ending = false
  process.on('SIGTERM', async () => {
    if (ending) {
      return // a second signal must not cut the leaving short
    }
    ending = true
    const deadline = sleep(longestFetchMs + LEAVE_MARGIN_MS)
    await Promise.race([consumer.disconnect(), deadline]).catch(error => console.error(error.message))
    process.exit(0)
  })
}

async function main() {
  const settings = readSettings()
  let consumer
  try {
    consumer = createConsumer(settings)
  } catch (error) {
    fail(`KafkaJS refuses these settings: ${error.message}.`)
  }

  let hasJoined = false
  consumer.on(consumer.events.GROUP_JOIN, () => {
    // Once is enough: a group that rebalances for ever must not also hold up its own rollout.
    hasJoined = true
  })
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) {
      fail(`The consumer crashed and KafkaJS does not restart it: ${payload.error.message}.`)
    }
  })
  serve(settings, () => hasJoined, instrument(consumer, settings))
  endOnSignal(consumer, settings)

  await subscribe(consumer, settings.topic)
  await consumer.run({
    eachMessage: async () => {
      await sleep(settings.handlerMs)
    },
  })
}

main().catch(error => fail(`The consumer ended: ${error.stack}`))
