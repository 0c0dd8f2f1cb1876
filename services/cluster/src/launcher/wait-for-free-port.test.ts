import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { waitForFreePort } from './wait-for-free-port.ts'

const host = '127.0.0.1'

/** Listens as a gateway does. */
async function listening(): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer()
  onTestFinished(() => void server.close())
  await once(server.listen({ port: 0, host, reusePort: true }), 'listening')
  const { port } = server.address() as AddressInfo // it listens on TCP
  return { server, port }
}

test('waitForFreePort fails with an explanation if another market uses the port until the timeout', async () => {
  const { port } = await listening()
  await expect(waitForFreePort({ host, port }, new AbortController().signal, 0)).rejects.toThrow(
    `port ${port} is taken by another program. Set PORT to a free one.`,
  )
})

test('waitForFreePort resolves when the processes that use the port have ended', async () => {
  const { server, port } = await listening()
  const waiting = waitForFreePort({ host, port }, new AbortController().signal, 45_000)
  server.close()
  await waiting
})

test('waitForFreePort ends at an abort, and refuses an address of another machine', async () => {
  const { port } = await listening()
  await expect(waitForFreePort({ host, port }, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
  await expect(waitForFreePort({ host: '192.0.2.1', port }, new AbortController().signal)).rejects.toThrow(/PENSTOCK_HOST/)
})
