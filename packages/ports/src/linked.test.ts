import { Fault } from '@penstock/kernel/result.ts'
import { DAY_MS } from '@penstock/kernel/time.ts'
import { expect, test } from 'vitest'
import type { Graph, GraphChannel } from './lightning.ts'
import { linkedSellers, noteOpening } from './linked.ts'

function world(between: Graph['between'] = () => Promise.resolve([])) {
  const seen = new Map<string, number>()
  const clock = { at: 1000, now: () => clock.at }
  const limits = {
    touch: async (key: string, now: number) => void seen.set(key, now),
    lastSeen: async (key: string) => seen.get(key),
  }
  return { clock, ports: { graph: { between }, limits, clock } }
}
const wanted = (isPrivate: boolean, pubkey = 'buyer') => ({ isPrivate, destination: { pubkey } })

test('whoever has an announced channel with the buyer comes last for a private one', async () => {
  const one = [{}] as unknown as readonly GraphChannel[] // only their number counts
  const { ports } = world((seller) => Promise.resolve(seller === 'linked' ? one : []))
  expect(await linkedSellers(ports, wanted(true), ['other', 'linked', 'linked'])).toEqual(['linked'])
  expect(await linkedSellers(ports, wanted(false), ['linked'])).toEqual([])
})

test('so does whoever was just asked for a public one, for a day', async () => {
  const { ports, clock } = world()
  await noteOpening(ports, wanted(false), 'asked')
  await noteOpening(ports, wanted(true), 'asked-privately')
  await noteOpening(ports, wanted(false), undefined)
  const sellers = ['asked', 'asked-privately', 'other']
  expect(await linkedSellers(ports, wanted(true), sellers)).toEqual(['asked'])
  expect(await linkedSellers(ports, wanted(true, 'somebody else'), sellers)).toEqual([])
  clock.at += DAY_MS
  expect(await linkedSellers(ports, wanted(true), sellers)).toEqual([])
})

test('nobody is set back by a node that does not answer', async () => {
  const { ports } = world(() => Promise.reject(new Fault('the node is away')))
  expect(await linkedSellers(ports, wanted(true), ['a'])).toEqual([])
})
