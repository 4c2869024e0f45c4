// The /metrics of a pod, on its own address.

'use strict'

const http = require('node:http')

/** Answer every request on POD_IP:METRICS_PORT with what is in the registry. */
module.exports = function serve(registry) {
  const server = http.createServer(async (_, response) => {
    response.setHeader('Content-Type', registry.contentType)
    response.end(await registry.metrics())
  })
  server.listen(Number(process.env.METRICS_PORT), process.env.POD_IP)
}
