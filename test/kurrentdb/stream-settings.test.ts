import { kurrentSettingsFaults } from '@penstock/adapters/kurrentdb/stream-settings.ts'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import { expect, it } from 'vitest'
import { aPair, event, events } from './stores.ts'

/** More than the server writes metadata of its own for. */
const MANY = 40

it('streams that keep their events have no faults, whoever may read them', async () => {
  const { server, store } = await aPair()
  for (let n = 0; n < MANY; n++) await store.append(`order-${n}`, 'none', events(2))
  server.log.system('$$order-1', '$metadata', '{"$acl":{"$r":"auditor"}}')
  server.log.system('$$$settings', '$metadata', '{"$maxCount":1}')
  expect(await kurrentSettingsFaults({ url: server.url })).toEqual([])
})

it.each(['$maxCount', '$maxAge', '$tb'])('a stream whose events the server hides by %s is named', async (setting) => {
  const { server, store } = await aPair()
  await store.append('payhash-a', 'none', events(2))
  server.log.system('$$payhash-a', '$metadata', `{"${setting}":1}`)
  server.log.system('$$payhash-a', '$metadata', '{}')
  expect(await kurrentSettingsFaults({ url: server.url })).toEqual([
    { stream: 'payhash-a', revision: 0, what: `the server was told by "${setting}" to drop or hide events of this stream` },
  ])
})

it('a stream that was deleted for good is named, though the log still has its events', async () => {
  const { server, store } = await aPair()
  await store.append('settlement-a', 'none', events(2))
  server.log.system('$stats-a', '$streamDeleted', '{}')
  expect(await kurrentSettingsFaults({ url: server.url })).toEqual([])
  server.log.system('settlement-a', '$streamDeleted', '{}')
  expect(await kurrentSettingsFaults({ url: server.url })).toEqual([
    { stream: 'settlement-a', revision: 0, what: 'the stream was deleted: nobody can read it, or append to it' },
  ])
})

it('a server that is gone is a fault', async () => {
  const { server } = await aPair()
  server.stop()
  await expect(kurrentSettingsFaults({ url: server.url })).rejects.toThrow(Fault)
})

it('an event of a type that readers of the log pass over is no fact of its stream', async () => {
  const { server, store } = await aPair()
  await store.append('order-1', 'none', events(1))
  const [written] = server.log.stream('order-1') ?? []
  const hidden = { ...event(), contentType: '', data: Buffer.from('{}'), metadata: Buffer.from(written?.metadata ?? []) }
  server.log.append('order-1', 0n, [{ ...hidden, type: '$OrderValid' }])
  await expect(store.read('order-1')).rejects.toThrow(Bug)
})
