import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { freePort } from '@penstock/servers/free-port.ts'
import { expect, onTestFinished, test } from 'vitest'
import { portIsFree, reachedAt } from './port.ts'

const host = '127.0.0.1'

/** As a gateway does. */
async function listening(): Promise<{ readonly server: Server; readonly port: number }> {
  const port = await freePort()
  const server = createServer()
  onTestFinished(() => void server.close())
  await once(server.listen({ port, host, reusePort: true }), 'listening')
  return { server, port }
}

test('a port that another market has is refused with a sentence', async () => {
  const { port } = await listening()
  await expect(portIsFree({ host, port }, new AbortController().signal, 0)).rejects.toThrow(
    `port ${port} is taken by another program. Set PORT to a free one.`,
  )
})

test('a port is waited for while those leave who have it', async () => {
  const { server, port } = await listening()
  const waiting = portIsFree({ host, port }, new AbortController().signal)
  server.close()
  await waiting
})

test('nobody waits for a port who is told to stop, or for an address that is of another machine', async () => {
  const { port } = await listening()
  await expect(portIsFree({ host, port }, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
  await expect(portIsFree({ host: '192.0.2.1', port }, new AbortController().signal)).rejects.toThrow(/PENSTOCK_HOST/)
})

test.each([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '[::1]'],
  ['fd00::7', '[fd00::7]'],
  ['localhost', 'localhost'],
])('who listens on %s is reached at %s', (listens, reached) => {
  expect(reachedAt(listens)).toBe(reached)
})
