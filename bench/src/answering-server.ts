import { createServer } from 'node:http'

/** The reference of `get_order` and of a start, a process of its own: bare node:http that reads a request and answers so many bytes. */
const answer = JSON.stringify('x'.repeat(Number(process.argv[2] ?? '100') - 2))

const server = createServer((request, response) => {
  request.resume().on('end', () => response.setHeader('content-type', 'application/json').end(answer))
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') process.stdout.write(`${address.port}\n`)
})
// Whoever started it holds the other end of its input, so it never outlives them.
process.stdin.resume().on('end', () => process.exit(0))
