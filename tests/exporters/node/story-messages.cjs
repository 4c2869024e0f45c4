// Put before the sandbox's KafkaJS consumer with `node --require`: its handler then does what a story's messages ask.

'use strict'

const { Kafka } = require('kafkajs')

const handle = require('./handle.cjs')

const makeConsumer = Kafka.prototype.consumer

Kafka.prototype.consumer = function consumer(settings) {
  const made = makeConsumer.call(this, settings)
  const run = ({ eachMessage, ...rest }) =>
    made.run({
      ...rest,
      eachMessage: async payload => {
        await handle(payload.message.value)
        await eachMessage(payload)
      },
    })
  return { ...made, run }
}
