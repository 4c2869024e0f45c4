// What the lab's consumers in JavaScript have in common: settings from the environment, handlers, the way to end.

'use strict'

const { setTimeout: sleep } = require('node:timers/promises')

function fail(sentence) {
  console.error(sentence)
  process.exit(1)
}

function text(name) {
  return process.env[name] || fail(`${name} is not set, but the consumer needs it.`)
}

/** The variable in milliseconds; undefined when it is not set, so that the library's default holds. */
function milliseconds(name) {
  const value = process.env[name]
  if (value === undefined) {
    return undefined
  }
  return /^[0-9]{1,15}$/.test(value) ? Number(value) : fail(`${name} is ${value}, but it must be milliseconds.`)
}

/** An object without what is undefined: some libraries take that for a value. */
function given(settings) {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
}

function burn(ms) {
  const until = process.hrtime.bigint() + BigInt(ms) * 1000000n
  while (process.hrtime.bigint() < until);
}

/** Handle one message as HANDLER says: `wait` and `block` take HANDLER_MS, `hang` never returns. */
async function handle() {
  const ms = milliseconds('HANDLER_MS') ?? 0
  switch (process.env.HANDLER) {
    case 'wait':
      return sleep(ms)
    case 'block':
      return burn(ms)
    case 'hang':
      return new Promise(() => setInterval(() => {}, 60000))
  }
}

/** Close in an orderly way at SIGTERM; what does not end in time is ended. */
function closeOnSignal(close) {
  process.once('SIGTERM', async () => {
    setTimeout(() => process.exit(1), 8000).unref()
    await close().catch(error => console.error(error.message))
    process.exit(0)
  })
}

module.exports = {
  brokers: text('KAFKA_BROKERS'),
  groupId: text('KAFKA_GROUP_ID'),
  topic: text('KAFKA_TOPIC'),
  clientId: text('KAFKA_CLIENT_ID'),
  protocol: process.env.KAFKA_GROUP_PROTOCOL,
  milliseconds,
  given,
  handle,
  closeOnSignal,
}
