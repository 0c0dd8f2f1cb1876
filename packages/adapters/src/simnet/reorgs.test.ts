import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type TemporaryNetwork, openTemporaryNetwork } from './temporary-network.ts'

let network: TemporaryNetwork
beforeEach(() => {
  network = openTemporaryNetwork()
})
afterEach(() => network.drop())

const control = () => network.simnet().control
const graph = () => network.simnet().lightning('market').graph
const pubkey = (alias: string): string =>
  control()
    .nodes()
    .find((node) => node.alias === alias)?.pubkey ?? ''
const open = (): string => control().open('seller-ada', pubkey('buyer'), 1_000_000n).outpoint
const pays = (alias: string) => control().pay(alias, control().invoice('buyer', 1000n, 3600).invoice).state
const listed = async (outpoint: string) =>
  (await network.simnet().lightning('seller-ada').channels.list()).find((channel) => channel.outpoint === outpoint)

test('a used channel whose funding lost its block carries no payment, even after the funding is mined again', () => {
  open()
  control().mine(6)
  expect([pays('seller-ada'), pays('market')]).toEqual(['SUCCEEDED', 'SUCCEEDED'])
  control().reorg(6, { remine: true })
  expect([pays('seller-ada'), pays('market')]).toEqual(['FAILED', 'FAILED'])
  control().mine(6)
  expect([pays('seller-ada'), pays('market')]).toEqual(['FAILED', 'FAILED'])
})

test('a re-organisation does not change a channel that keeps its block, or one that is not active yet', async () => {
  const kept = open()
  control().mine(4)
  const young = open()
  control().mine(2)
  control().reorg(5)
  expect(await listed(kept)).toMatchObject({ state: 'active' })
  expect(await listed(young)).toMatchObject({ state: 'pending', shortChannelId: null })
  control().mine(6)
  for (const outpoint of [kept, young]) expect(await graph().channel(outpoint)).toBeDefined()
  const { height, txIndex } = (await network.simnet().chain().output(young, 0)) ?? {}
  const shortChannelId = `${height}x${txIndex}x${young.split(':')[1]}`
  expect(await listed(young)).toMatchObject({ state: 'active', shortChannelId })
})

test('opening an old file sets the position of the first use from the position of the funding', async () => {
  const [used, waiting] = [open(), (control().mine(4), open())]
  control().mine(2)
  const before = [await listed(used), await listed(waiting)]
  await network.simnet().close()
  const db = new DatabaseSync(network.path)
  db.exec('DROP INDEX channels_by_place; DROP VIEW channel_view')
  for (const column of ['used_height', 'used_index', 'is_unlisted']) db.exec(`ALTER TABLE channels DROP COLUMN ${column}`)
  db.close()
  await network.reopen()
  expect([await listed(used), await listed(waiting)]).toEqual(before)
  control().mine(1)
  expect(await listed(waiting)).toMatchObject({ state: 'active' })
  expect(pays('market')).toBe('SUCCEEDED')
})
