// What a message of a story asks of its handler: "for MS" takes so long, "until MS" until that time since 1970.

'use strict'

const { setTimeout: sleep } = require('node:timers/promises')

/** Handle a message's value, a Buffer or null; anything else takes no time. */
module.exports = async function handle(value) {
  const [, word, text] = /^(for|until) (\d{1,15})$/.exec(String(value)) ?? []
  const ms = word === 'until' ? Number(text) - Date.now() : Number(text ?? 0)
  if (ms > 0) {
    await sleep(ms)
  }
}
