import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { findFreePort, findPortFault } from './free-port.ts'

test('concurrent calls get different ports', async () => {
  const ports = await Promise.all(Array.from({ length: 200 }, findFreePort))
  expect(new Set(ports).size).toBe(200)
})

test('a port with a listener is in use, even if the listener allows others to share the port', async () => {
  // For port 0 the system chooses a free port. A chosen number could be taken by another program meanwhile.
  expect(await findPortFault(0)).toBeUndefined()
  const server = createServer()
  onTestFinished(() => void server.close())
  await once(server.listen({ port: 0, host: '127.0.0.1', reusePort: true }), 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  expect(await findPortFault(port)).toBe('EADDRINUSE')
  expect(await findPortFault(port, '0.0.0.0')).toBe('EADDRINUSE')
})
