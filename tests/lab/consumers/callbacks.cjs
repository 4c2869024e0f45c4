// The callback API of node-rdkafka, which confluent-kafka for JavaScript has, too: librdkafka's own names.

'use strict'

const lab = require('./settings.cjs')

module.exports = function start(KafkaConsumer) {
  const consumer = new KafkaConsumer(
    lab.given({
      'bootstrap.servers': lab.brokers,
      'client.id': lab.clientId,
      'group.id': lab.groupId,
      'group.protocol': lab.protocol,
      'session.timeout.ms': lab.milliseconds('KAFKA_SESSION_TIMEOUT_MS'),
      'heartbeat.interval.ms': lab.milliseconds('KAFKA_HEARTBEAT_INTERVAL_MS'),
      'fetch.wait.max.ms': lab.milliseconds('KAFKA_FETCH_WAIT_MAX_MS'),
      'max.poll.interval.ms': lab.milliseconds('KAFKA_MAX_POLL_INTERVAL_MS'),
    }),
    { 'auto.offset.reset': 'earliest' },
  )

  async function consume() {
    for (;;) {
      const messages = await new Promise(resolve => consumer.consume(1, (_, found) => resolve(found ?? [])))
      for (const message of messages) {
        await lab.handle(message)
      }
    }
  }

  consumer.on('ready', () => {
    consumer.setDefaultConsumeTimeout(100)
    consumer.subscribe([lab.topic])
    consume()
  })
  lab.closeOnSignal(() => new Promise(resolve => consumer.disconnect(resolve)))
  consumer.connect()
}
