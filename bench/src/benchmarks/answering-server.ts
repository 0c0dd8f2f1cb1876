import { createServer } from 'node:http'

/** The reference server of `get-order` and `start`: a separate process whose bare node:http answers each request with N bytes. */
const answer = JSON.stringify('x'.repeat(Number(process.argv[2] ?? '100') - 2))

const server = createServer((request, response) => {
  request.resume().on('end', () => response.setHeader('content-type', 'application/json').end(answer))
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') process.stdout.write(`${address.port}\n`)
})
// The parent holds the other end of stdin. When the parent ends, stdin ends, and so does this process.
process.stdin.resume().on('end', () => process.exit(0))
