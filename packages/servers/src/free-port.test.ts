import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { findFreePort, findPortFault } from './free-port.ts'

test('concurrent calls get different ports', async () => {
  const ports = await Promise.all(Array.from({ length: 200 }, findFreePort))
  expect(new Set(ports).size).toBe(200)
})

test('a port with a listener is in use, even if the listener allows others to share the port', async () => {
  const port = await findFreePort()
  expect(await findPortFault(port)).toBeUndefined()
  const server = createServer()
  onTestFinished(() => void server.close())
  await once(server.listen({ port, host: '127.0.0.1', reusePort: true }), 'listening')
  expect(await findPortFault(port)).toBe('EADDRINUSE')
  expect(await findPortFault(port, '0.0.0.0')).toBe('EADDRINUSE')
})
