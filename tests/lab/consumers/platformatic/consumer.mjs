// @platformatic/kafka: `for await` over the stream of messages, as its documentation shows.

import { Consumer } from '@platformatic/kafka'
import lab from './settings.cjs'

const consumer = new Consumer(
  lab.given({
    clientId: lab.clientId,
    groupId: lab.groupId,
    bootstrapBrokers: lab.brokers.split(','),
    groupProtocol: lab.protocol,
    sessionTimeout: lab.milliseconds('KAFKA_SESSION_TIMEOUT_MS'),
    heartbeatInterval: lab.milliseconds('KAFKA_HEARTBEAT_INTERVAL_MS'),
    maxWaitTime: lab.milliseconds('KAFKA_MAX_WAIT_TIME_MS'),
    rebalanceTimeout: lab.milliseconds('KAFKA_REBALANCE_TIMEOUT_MS'),
  }),
)

lab.closeOnSignal(() => consumer.close(true))
const stream = await consumer.consume({ topics: [lab.topic], mode: 'earliest', autocommit: true })
for await (const message of stream) {
  await lab.handle(message)
}
