import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'

/**
 * The reference of `buy`, a process of its own: bare node:http that reads a request, writes one event's bytes to a
 * preallocated file, flushes them, and answers as many bytes as a purchase has. Its arguments: the file, the bytes of
 * an event, the bytes of an answer.
 */
const [path = '', eventBytes = '', answerBytes = ''] = process.argv.slice(2)
const event = Buffer.alloc(Number(eventBytes), 'x')
const answer = JSON.stringify('x'.repeat(Number(answerBytes) - 2))
const PLACES = 4096

const file = openSync(path, 'w+')
for (let place = 0; place < PLACES; place++) writeSync(file, event, 0, event.length, place * event.length)
fdatasyncSync(file)

let next = 0
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    writeSync(file, event, 0, event.length, (next++ % PLACES) * event.length)
    fdatasyncSync(file)
    response.setHeader('content-type', 'application/json').end(answer)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') process.stdout.write(`${address.port}\n`)
})
// Whoever started it holds the other end of its input, so it never outlives them.
process.stdin.resume().on('end', () => {
  closeSync(file)
  rmSync(path)
  process.exit(0)
})
