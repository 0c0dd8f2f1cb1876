import { findKurrentSettingsFaults } from '@penstock/adapters/kurrentdb/stream-settings.ts'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import { expect, it } from 'vitest'
import { openServerAndStore, createNewEvent, createNewEvents } from './stores.ts'

/** A number of streams that is larger than the number of streams with metadata from the server itself. */
const MANY = 40

it('streams that hide no events have no faults, also with restricted readers', async () => {
  const { server, store } = await openServerAndStore()
  for (let n = 0; n < MANY; n++) await store.append(`order-${n}`, 'none', createNewEvents(2))
  server.log.system('$$order-1', '$metadata', '{"$acl":{"$r":"auditor"}}')
  server.log.system('$$$settings', '$metadata', '{"$maxCount":1}')
  expect(await findKurrentSettingsFaults({ url: server.url })).toEqual([])
})

it.each(['$maxCount', '$maxAge', '$tb'])('a stream with a past setting %s, which hides events, is reported', async (setting) => {
  const { server, store } = await openServerAndStore()
  await store.append('payhash-a', 'none', createNewEvents(2))
  server.log.system('$$payhash-a', '$metadata', `{"${setting}":1}`)
  server.log.system('$$payhash-a', '$metadata', '{}')
  expect(await findKurrentSettingsFaults({ url: server.url })).toEqual([
    { stream: 'payhash-a', revision: 0, what: `the server was told by "${setting}" to drop or hide events of this stream` },
  ])
})

it('a permanently deleted stream is reported, although the log still contains its events', async () => {
  const { server, store } = await openServerAndStore()
  await store.append('settlement-a', 'none', createNewEvents(2))
  server.log.system('$stats-a', '$streamDeleted', '{}')
  expect(await findKurrentSettingsFaults({ url: server.url })).toEqual([])
  server.log.system('settlement-a', '$streamDeleted', '{}')
  expect(await findKurrentSettingsFaults({ url: server.url })).toEqual([
    { stream: 'settlement-a', revision: 0, what: 'the stream was deleted: nobody can read it, or append to it' },
  ])
})

it('the check throws a Fault if the server is stopped', async () => {
  const { server } = await openServerAndStore()
  server.stop()
  await expect(findKurrentSettingsFaults({ url: server.url })).rejects.toThrow(Fault)
})

it('a read of a stream throws a Bug for an event with a system type, which reads of the log skip', async () => {
  const { server, store } = await openServerAndStore()
  await store.append('order-1', 'none', createNewEvents(1))
  const [written] = server.log.stream('order-1') ?? []
  const hidden = { ...createNewEvent(), contentType: '', data: Buffer.from('{}'), metadata: Buffer.from(written?.metadata ?? []) }
  server.log.append('order-1', 0n, [{ ...hidden, type: '$OrderValid' }])
  await expect(store.read('order-1')).rejects.toThrow(Bug)
})
