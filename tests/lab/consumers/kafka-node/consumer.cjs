// kafka-node: a ConsumerGroup that emits messages.

'use strict'

const { ConsumerGroup } = require('kafka-node')
const lab = require('./settings.cjs')

const group = new ConsumerGroup(
  lab.given({
    kafkaHost: lab.brokers,
    id: lab.clientId,
    groupId: lab.groupId,
    fromOffset: 'earliest',
    sessionTimeout: lab.milliseconds('KAFKA_SESSION_TIMEOUT_MS'),
    heartbeatInterval: lab.milliseconds('KAFKA_HEARTBEAT_INTERVAL_MS'),
    fetchMaxWaitMs: lab.milliseconds('KAFKA_FETCH_MAX_WAIT_MS'),
  }),
  [lab.topic],
)
group.on('message', lab.handle)
group.on('error', error => console.error(error.message))
lab.closeOnSignal(() => new Promise(resolve => group.close(true, resolve)))
