import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Scratch, scratchSimnet } from './scratch.ts'

let scratch: Scratch
beforeEach(() => {
  scratch = scratchSimnet()
})
afterEach(() => scratch.drop())

const control = () => scratch.simnet().control
const graph = () => scratch.simnet().lightning('market').graph
const pubkey = (alias: string): string =>
  control()
    .nodes()
    .find((node) => node.alias === alias)?.pubkey ?? ''
const open = (): string => control().open('seller-ada', pubkey('buyer'), 1_000_000n).outpoint
const pays = (alias: string) => control().pay(alias, control().invoice('buyer', 1000n, 3600).invoice).state
const listed = async (outpoint: string) =>
  (await scratch.simnet().lightning('seller-ada').channels.list()).find((channel) => channel.outpoint === outpoint)

test('nobody pays through a channel in use whose funding has lost its block, wherever it is then', () => {
  open()
  control().mine(6)
  expect([pays('seller-ada'), pays('market')]).toEqual(['SUCCEEDED', 'SUCCEEDED'])
  control().reorg(6, { remine: true })
  expect([pays('seller-ada'), pays('market')]).toEqual(['FAILED', 'FAILED'])
  control().mine(6)
  expect([pays('seller-ada'), pays('market')]).toEqual(['FAILED', 'FAILED'])
})

test('one that keeps its block, and one that is not in use yet, are used as before', async () => {
  const kept = open()
  control().mine(4)
  const young = open()
  control().mine(2)
  control().reorg(5)
  expect(await listed(kept)).toMatchObject({ state: 'active' })
  expect(await listed(young)).toMatchObject({ state: 'pending', shortChannelId: null })
  control().mine(6)
  for (const outpoint of [kept, young]) expect(await graph().channel(outpoint)).toBeDefined()
  const { height, txIndex } = (await scratch.simnet().chain().output(young, 0)) ?? {}
  const shortChannelId = `${height}x${txIndex}x${young.split(':')[1]}`
  expect(await listed(young)).toMatchObject({ state: 'active', shortChannelId })
})

test('in a file of before, that did not note where channels came into use, they are where their fundings are', async () => {
  const [used, waiting] = [open(), (control().mine(4), open())]
  control().mine(2)
  const before = [await listed(used), await listed(waiting)]
  await scratch.simnet().close()
  const db = new DatabaseSync(scratch.path)
  db.exec('DROP INDEX channels_by_place; DROP VIEW channel_view')
  for (const column of ['used_height', 'used_index', 'is_unlisted']) db.exec(`ALTER TABLE channels DROP COLUMN ${column}`)
  db.close()
  await scratch.reopen()
  expect([await listed(used), await listed(waiting)]).toEqual(before)
  control().mine(1)
  expect(await listed(waiting)).toMatchObject({ state: 'active' })
  expect(pays('market')).toBe('SUCCEEDED')
})
