// node-rdkafka: one message at a time.

'use strict'

const { KafkaConsumer } = require('node-rdkafka')

require('./callbacks.cjs')(KafkaConsumer)
