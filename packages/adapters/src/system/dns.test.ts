import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { createVirtualSchedule } from '../deterministic/virtual-schedule.ts'
import { createDnsResolver } from './dns.ts'

const [A, AAAA, SERVFAIL, NXDOMAIN] = [1, 28, 2, 3]
type Zone = (
  type: number,
  name: string,
) => { readonly code?: number; readonly addresses?: readonly (readonly number[])[] } | 'silence'

/** Reads the name and the type of the question, and the offset of its end (RFC 1035, section 4.1). */
function questionOf(query: Buffer) {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.subarray(at + 1, at + 1 + length).toString())
    at += length + 1
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function answerTo(query: Buffer, zone: Zone): Buffer | undefined {
  const { name, type, end } = questionOf(query)
  const reply = zone(type, name)
  if (reply === 'silence') return undefined
  const { code = 0, addresses = [] } = reply
  const head = Buffer.from(query.subarray(0, 12))
  head.writeUInt16BE(0x8180 | code, 2)
  head.writeUInt16BE(addresses.length, 6)
  head.writeUInt32BE(0, 8)
  const records = addresses.map((bytes) => {
    const record = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes])
    return record
  })
  return Buffer.concat([head, query.subarray(12, end), ...records])
}

async function resolverOf(zone: Zone) {
  const server = createSocket('udp4')
  const asked: string[] = []
  server.on('message', (query: Buffer, { port }: RemoteInfo) => {
    asked.push(questionOf(query).name)
    const answer = answerTo(query, zone)
    if (answer) server.send(answer, port, '127.0.0.1')
  })
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const schedule = createVirtualSchedule('name server')
  return { asked, schedule, resolve: createDnsResolver(schedule.clock, [`127.0.0.1:${server.address().port}`]) }
}

test('all addresses of both families are returned', async () => {
  const six = [0x2a, 0, 0x14, 0x50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
  const { resolve } = await resolverOf((type) => ({
    addresses:
      type === A
        ? [
            [8, 8, 8, 8],
            [10, 0, 0, 1],
          ]
        : [six],
  }))
  const addresses = await resolve('node.example.org')
  expect(addresses?.toSorted()).toEqual(['10.0.0.1', '2a00:1450::1', '8.8.8.8'])
})

test('a name without addresses resolves to an empty list, and a name is queried without search domains', async () => {
  const { resolve, asked } = await resolverOf((_, name) => ({ code: name.startsWith('unknown') ? NXDOMAIN : 0 }))
  expect(await resolve('unknown.example.org')).toEqual([])
  expect(await resolve('empty.example.org')).toEqual([])
  expect(new Set(asked)).toEqual(new Set(['unknown.example.org', 'empty.example.org']))
})

test('a failed lookup is undefined, unless the lookup of the other address family succeeds', async () => {
  const broken = await resolverOf(() => ({ code: SERVFAIL }))
  expect(await broken.resolve('node.example.org')).toBeUndefined()
  const half = await resolverOf((type) => (type === AAAA ? { code: SERVFAIL } : { addresses: [[8, 8, 8, 8]] }))
  expect(await half.resolve('node.example.org')).toEqual(['8.8.8.8'])
})

test('a lookup at a server that never answers ends at the timeout', async () => {
  const { resolve, asked, schedule } = await resolverOf(() => 'silence')
  let isOver = false
  const addresses = resolve('node.example.org').finally(() => (isOver = true))
  await waitUntil('both families are asked', () => asked.length >= 2)
  await schedule.run({ untilMs: schedule.now() + 3999 })
  expect(isOver).toBe(false)
  await schedule.run({ untilMs: schedule.now() + 1 })
  expect(await addresses).toBeUndefined()
})
