import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'

/**
 * The reference server of `buy`, in a process of its own. For each request, its bare node:http writes the bytes of one event to
 * a preallocated file and flushes them. It answers with as many bytes as `buy` does.
 * Arguments: the file, the bytes per event, the bytes per answer.
 */
const [path = '', eventBytes = '', answerBytes = ''] = process.argv.slice(2)
const event = Buffer.alloc(Number(eventBytes), 'x')
const answer = JSON.stringify('x'.repeat(Number(answerBytes) - 2))
const SLOTS = 4096

const file = openSync(path, 'w+')
for (let slot = 0; slot < SLOTS; slot++) writeSync(file, event, 0, event.length, slot * event.length)
fdatasyncSync(file)

let nextSlot = 0
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    writeSync(file, event, 0, event.length, (nextSlot++ % SLOTS) * event.length)
    fdatasyncSync(file)
    response.setHeader('content-type', 'application/json').end(answer)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') process.stdout.write(`${address.port}\n`)
})
// The parent holds the other end of stdin. When the parent ends, stdin ends, and so does this process.
process.stdin.resume().on('end', () => {
  closeSync(file)
  rmSync(path)
  process.exit(0)
})
