import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kurrentEventStore } from '@penstock/adapters/kurrentdb/event-store.ts'
import { buildConnectionString } from '@penstock/adapters/kurrentdb/connection-string.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { afterAll, expect, it } from 'vitest'
import { retryUntilStoreAnswers, useKurrentServer, openKurrentStore, createNewEvent } from './stores.ts'
import { runSuccessfullySync } from '../support/processes.ts'

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
  runSuccessfullySync('openssl', ['req', ...form, ...names])
  return { caFile: certificate, tls: { key: readFileSync(key), certificate: readFileSync(certificate) } }
}
const basic = (user: string, password: string): string => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

it('every call over TLS has the user and the password of the password file, also after the file has changed', async () => {
  const { caFile, tls: certificate } = tls()
  const server = await useKurrentServer({ tls: certificate })
  const watchCredentials = (password: string) => {
    const since = server.calls.length
    return () =>
      expect(new Set(server.calls.slice(since).map(({ credentials }) => credentials))).toEqual(
        new Set([basic('penstock', password)]),
      )
  }
  writeFileSync(passwordFile, 'p@ss:w/ö&?rd\n')
  const url = `kurrentdb://penstock@localhost:${server.endpoint.port}?tlsCAFile=${caFile}&discoveryInterval=10`
  const store = openKurrentStore(url, { passwordFile })
  const expectFirstPassword = watchCredentials('p@ss:w/ö&?rd')
  await store.append('order-1', 'none', [createNewEvent()])
  expect(await store.read('order-1')).toHaveLength(1)
  expectFirstPassword()
  writeFileSync(passwordFile, 'second')
  server.stop()
  await expect(repeatUntilReplaceable(() => store.append('order-1', 0, [createNewEvent()]))).rejects.toThrow(Fault)
  const expectSecondPassword = watchCredentials('second')
  await server.start()
  expect(await retryUntilStoreAnswers(() => store.read('order-1'))).toHaveLength(1)
  expectSecondPassword()
  const storeWithoutCa = openKurrentStore(`kurrentdb://localhost:${server.endpoint.port}`)
  await expect(storeWithoutCa.append('order-2', 'none', [createNewEvent()])).rejects.toThrow(Fault)
  await expect(storeWithoutCa.read('order-2')).rejects.toThrow(Fault)
  await expect(storeWithoutCa.read('order-2')).rejects.toThrow(/a read of order-2: .*certificate/)
})

/** Repeats a call for 1.1 s. After a fault the adapter replaces only a client older than 1 s, so the last failure replaces it. */
async function repeatUntilReplaceable<T>(call: () => Promise<T>): Promise<T> {
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

const defaultOptions = 'discoveryInterval=100&maxDiscoverAttempts=10'

it('the store URL is converted to the connection string of the client', () => {
  writeFileSync(passwordFile, 'a/b\n')
  const text = (url: string, file?: string) => buildConnectionString({ url, ...(file && { passwordFile: file }) }).text
  expect(text('esdb://node:2113?tls=false')).toBe(`kurrentdb://node:2113?tls=false&${defaultOptions}`)
  expect(text('esdb+discover://all.nodes/')).toBe(`kurrentdb+discover://all.nodes?${defaultOptions}`)
  expect(text('kurrentdb://u:p%40@a:1,b:2?MaxDiscoverAttempts=3')).toBe(
    'kurrentdb://u:p%40@a:1,b:2?MaxDiscoverAttempts=3&discoveryInterval=100',
  )
  expect(text('kurrentdb://u:old@a', passwordFile)).toBe(`kurrentdb://u:a%2Fb@a?${defaultOptions}`)
  expect(buildConnectionString({ url: 'kurrentdb://u@a', passwordFile }).credentials).toEqual({ username: 'u', password: 'a/b' })
})

it('a wrong URL is rejected at once, and the error does not contain its password', () => {
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
