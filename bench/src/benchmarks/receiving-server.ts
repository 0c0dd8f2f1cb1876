import { createServer } from 'node:http'

/** The receiver of `deliveries`: a separate process that accepts each webhook, and never answers one to a path under /hang. */
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    if (!request.url?.startsWith('/hang')) response.end()
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') process.stdout.write(`${address.port}\n`)
})
// The parent holds the other end of stdin. When the parent ends, stdin ends, and so does this process.
process.stdin.resume().on('end', () => process.exit(0))
