import { createServer as createHttp } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { DOCKERFILE_ROOT, readDockerStages } from './dockerfile.ts'
import { runProgram } from '../support/processes.ts'

/** Health checks run every few seconds in each container, so they use only the shell and start neither Node nor a JVM. */

const servers: Server[] = []
const openSockets = new Set<Socket>()
afterEach(async () => {
  for (const socket of openSockets) socket.destroy()
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))))
})

async function listenOnFreePort(server: Server): Promise<number> {
  server.on('connection', (socket: Socket) => {
    openSockets.add(socket.on('error', () => undefined))
    socket.once('close', () => openSockets.delete(socket))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port // the address of a TCP server is an object
}

const exitOf = async (program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  (await runProgram(program, args, { env: { PATH: process.env['PATH'], ...env }, timeout: 20_000 })).code

describe("the image's health check", () => {
  const check =
    readDockerStages()
      .at(-1)
      ?.steps.find(({ keyword }) => keyword === 'HEALTHCHECK')?.argument ?? ''
  const [program = '', ...args] = JSON.parse(check.slice(check.indexOf('['))) as readonly string[] // the exec form is JSON
  const runCheck = (port: number) => exitOf(program, args, { PENSTOCK_HEALTH_PORT: `${port}` })

  test.each([
    [200, 0],
    [503, 1],
  ])('if /readyz answers %i, the check exits with %i', async (status, code) => {
    const paths: (string | undefined)[] = []
    const server = createHttp((request, response) => {
      paths.push(request.url)
      response.writeHead(status).end('{}')
    })
    expect(await runCheck(await listenOnFreePort(server))).toBe(code)
    expect(paths).toEqual(['/readyz'])
  })

  test('a process that does not answer or does not listen is unhealthy', async () => {
    expect(await runCheck(await listenOnFreePort(createServer()))).toBe(1)
    const port = await listenOnFreePort(createServer())
    await new Promise((resolve) => servers.pop()?.close(resolve))
    expect(await runCheck(port)).toBe(1)
  })

  test('the check does not start Node', () => expect([program, ...args].join(' ')).not.toMatch(/\bnode\b/))
})

describe("Kafka's health check", () => {
  const script = join(DOCKERFILE_ROOT, 'deploy/docker/kafka-answers.sh')
  const REQUEST = Buffer.from([0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff])
  /** The shell may send the request in two pieces, because its fourth byte is a newline. */
  const createBroker = (answer: readonly number[]) =>
    createServer((socket) => {
      let received = Buffer.alloc(0)
      socket.on('data', (piece: Buffer) => {
        received = Buffer.concat([received, piece])
        if (received.length < REQUEST.length) return
        if (received.equals(REQUEST)) socket.write(Buffer.from(answer))
        else socket.destroy()
      })
    })
  const runScript = async (server: Server) => exitOf('bash', [script, `${await listenOnFreePort(server)}`])

  test.each([
    ['with its versions', 0, [0, 0, 0, 10, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0]],
    ['with an error', 1, [0, 0, 0, 10, 0, 0, 0, 7, 0, 35, 0, 0, 0, 0]],
    ['in another protocol', 1, [...Buffer.from('HTTP/1.1 400 Bad Request')]],
  ])('if the broker answers %s, the check exits with %i', async (_, code, answer) => {
    expect(await runScript(createBroker(answer))).toBe(code)
  })

  test('a broker that accepts a connection and does not answer is unhealthy', async () => {
    expect(await runScript(createServer())).toBe(1)
  })
})
