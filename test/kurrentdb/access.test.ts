import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kurrentEventStore } from '@penstock/adapters/kurrentdb/event-store.ts'
import { connectionString } from '@penstock/adapters/kurrentdb/connection-string.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { afterAll, expect, it } from 'vitest'
import { answered, aServer, aStore, event } from './stores.ts'

const folder = mkdtempSync(join(tmpdir(), 'penstock-kurrentdb-'))
afterAll(() => rmSync(folder, { recursive: true }))
const inFolder = (name: string): string => join(folder, name)
const passwordFile = inFolder('password')

function tls() {
  const [key, certificate] = [inFolder('server.key'), inFolder('server.crt')]
  const names = [
    '-subj',
    '/CN=localhost',
    '-addext',
    'subjectAltName=DNS:localhost,IP:127.0.0.1',
    '-addext',
    'basicConstraints=CA:FALSE',
  ]
  const form = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', certificate]
  execFileSync('openssl', ['req', ...form, ...names], { stdio: 'ignore' })
  return { caFile: certificate, tls: { key: readFileSync(key), certificate: readFileSync(certificate) } }
}
const basic = (user: string, password: string): string => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

it('by TLS every call has the user and the password of the file, also after it was changed', async () => {
  const { caFile, tls: certificate } = tls()
  const server = await aServer({ tls: certificate })
  const said = (password: string) => {
    const since = server.calls.length
    return () =>
      expect(new Set(server.calls.slice(since).map(({ credentials }) => credentials))).toEqual(
        new Set([basic('penstock', password)]),
      )
  }
  writeFileSync(passwordFile, 'p@ss:w/ö&?rd\n')
  const url = `kurrentdb://penstock@localhost:${server.endpoint.port}?tlsCAFile=${caFile}&discoveryInterval=10`
  const store = aStore(url, { passwordFile })
  const first = said('p@ss:w/ö&?rd')
  await store.append('order-1', 'none', [event()])
  expect(await store.read('order-1')).toHaveLength(1)
  first()
  writeFileSync(passwordFile, 'second')
  server.stop()
  await expect(answeredOnce(() => store.append('order-1', 0, [event()]))).rejects.toThrow(Fault)
  const second = said('second')
  await server.start()
  expect(await answered(() => store.read('order-1'))).toHaveLength(1)
  second()
  const stranger = aStore(`kurrentdb://localhost:${server.endpoint.port}`)
  await expect(stranger.append('order-2', 'none', [event()])).rejects.toThrow(Fault)
  await expect(stranger.read('order-2')).rejects.toThrow(Fault)
  await expect(stranger.read('order-2')).rejects.toThrow(/a read of order-2: .*certificate/)
})

/** After the client is old enough to be replaced. */
async function answeredOnce<T>(call: () => Promise<T>): Promise<T> {
  const end = Date.now() + 1100
  for (;;) {
    const outcome = await call().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
    if ('value' in outcome) return outcome.value
    if (Date.now() > end) throw outcome.error
  }
}

const standards = 'discoveryInterval=100&maxDiscoverAttempts=10'

it('a url is made into what the client takes', () => {
  writeFileSync(passwordFile, 'a/b\n')
  const text = (url: string, file?: string) => connectionString({ url, ...(file && { passwordFile: file }) }).text
  expect(text('esdb://node:2113?tls=false')).toBe(`kurrentdb://node:2113?tls=false&${standards}`)
  expect(text('esdb+discover://all.nodes/')).toBe(`kurrentdb+discover://all.nodes?${standards}`)
  expect(text('kurrentdb://u:p%40@a:1,b:2?MaxDiscoverAttempts=3')).toBe(
    'kurrentdb://u:p%40@a:1,b:2?MaxDiscoverAttempts=3&discoveryInterval=100',
  )
  expect(text('kurrentdb://u:old@a', passwordFile)).toBe(`kurrentdb://u:a%2Fb@a?${standards}`)
  expect(connectionString({ url: 'kurrentdb://u@a', passwordFile }).credentials).toEqual({ username: 'u', password: 'a/b' })
})

it('a url that cannot work is refused at once, without showing its password', () => {
  const refusals: Record<string, RegExp> = {
    'https://node': /begins with kurrentdb/,
    'kurrentdb://user@node': /without a password/,
    'kurrentdb://:secret@node': /needs a user/,
    'kurrentdb://u:secret@node?throwOnAppendFailure=false': /throwOnAppendFailure/,
    'kurrentdb://u:secret@node?tls=true&gossiptimeout=5': /gossipTimeout/,
    'kurrentdb://u:secret@node?tlsCAFile=/nowhere': /[Ff]ile/,
  }
  for (const [url, reason] of Object.entries(refusals)) {
    expect(() => kurrentEventStore({ url })).toThrow(reason)
    expect(() => kurrentEventStore({ url })).not.toThrow(/secret/)
  }
  expect(() => kurrentEventStore({ url: 'kurrentdb://u@node', passwordFile: '/nowhere' })).toThrow(/cannot be read/)
  expect(() => kurrentEventStore({ url: 'kurrentdb://node', passwordFile })).toThrow(/needs a user/)
})
