import type { Behaviour } from '@penstock/adapters/simnet/nodes.ts'
import type { Simnet } from '@penstock/adapters/simnet/simnet.ts'
import type { Random } from '@penstock/adapters/seeded/random.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Weather } from './plan.ts'
import type { Reached } from './reached.ts'

type Sky = {
  readonly simnet: Simnet
  readonly clock: Clock
  readonly draws: Random
  readonly note: (text: string) => void
  readonly reached: Reached
  /** Transactions whose channel was proven and paid for: what a deep re-organisation takes from then on nobody can give back. */
  readonly paidFor: () => ReadonlySet<string>
}

/** Lets one thing happen to the network. */
export async function happen(sky: Sky, weather: Weather): Promise<void> {
  await sky.clock.sleep(weather.atMs)
  if ((await strikes(sky, weather)) !== NOTHING) sky.reached(`weather: ${weather.what}`)
}

/** There was nothing that it could happen to. */
const NOTHING = Symbol('nothing')

async function strikes(sky: Sky, weather: Weather): Promise<void | typeof NOTHING> {
  const { simnet, clock, draws, note, reached } = sky
  const { control } = simnet
  switch (weather.what) {
    case 'behave':
      return control.behave(weather.alias, weather.how)
    case 'offline':
      control.setOnline(weather.alias, false)
      await clock.sleep(weather.forMs)
      return control.setOnline(weather.alias, true)
    case 'keep probes':
      control.holdProbes(weather.alias, true)
      await clock.sleep(weather.forMs)
      return control.holdProbes(weather.alias, false)
    case 'reorg':
      return reorganise({ simnet, reached }, weather.depth, weather.remine) ? undefined : NOTHING
    case 'evict':
      return evict(sky) ? undefined : NOTHING
    case 'close': {
      const outpoint = sold(simnet)
      if (outpoint === undefined) return NOTHING
      const open = draws.pick(outpoint)
      control.close(open, { force: weather.force })
      return note('channel closed')
    }
    case 'dear blocks':
      control.feeFloor(weather.satPerVbyte)
      await clock.sleep(weather.forMs)
      return control.feeFloor(0)
    case 'mine':
      return void control.mine(weather.blocks)
  }
}

/** Whoever is still waiting behaves again as one should, so that everything can come to an end. */
export function clearSky({ control }: Simnet): void {
  control.feeFloor(0)
  const good: Behaviour = 'ok'
  for (const { alias } of control.nodes()) {
    control.setOnline(alias, true)
    control.holdProbes(alias, false)
    control.behave(alias, good)
  }
}

type Branch = { readonly simnet: Simnet; readonly reached: Reached }

/** As deep as the network is old, at most. @returns whether a block was taken back */
export function reorganise({ simnet: { control, rows }, reached }: Branch, depth: number, remine: boolean): boolean {
  const [first] = rows<{ value: string }>("SELECT value FROM meta WHERE key = 'first_height'")
  const [newest] = rows<{ height: bigint }>('SELECT max(height) AS height FROM blocks')
  const deepest = Number(newest?.height ?? 0) - Number(first?.value ?? 0)
  if (deepest <= 0) return false
  const confirmed = (): number => rows('SELECT 1 FROM channels c JOIN txs t ON t.txid = c.txid WHERE t.height IS NOT NULL').length
  const before = confirmed()
  control.reorg(Math.min(depth, deepest), { remine })
  reached('re-org')
  if (remine) reached('re-org that kept the transactions')
  if (confirmed() < before) reached('re-org that took a funding out of its block')
  return true
}

/** No re-org that a market has to live with is deeper. */
const DEEPEST_UNDOING = 7

/**
 * A seller's funding is taken out of its block, and its coins go elsewhere for good; so is whatever was made of its change.
 * @returns whether it could be
 */
export function undo({ simnet, reached, undone }: Branch & { readonly undone: Set<string> }, outpoint: string): boolean {
  const { control, rows } = simnet
  const [funding] = rows<{ txid: string; funding_height: bigint | null; height: bigint }>(
    `SELECT txid, funding_height, (SELECT max(height) FROM blocks) AS height FROM channel_view
     WHERE outpoint = '${outpoint}' AND is_seen = 1 AND is_spent = 0 AND held_msat = 0 AND slots = 0`,
  )
  if (!funding) return false
  const depth = funding.funding_height === null ? 0 : Number(funding.height - funding.funding_height) + 1
  if (depth > DEEPEST_UNDOING || (depth > 0 && !reorganise({ simnet, reached }, depth, false))) return false
  const seen = (): readonly string[] =>
    rows<{ outpoint: string }>("SELECT outpoint FROM channel_view WHERE state = 'published' AND is_seen = 1").map(
      (channel) => channel.outpoint,
    )
  const before = seen()
  control.doubleSpend(funding.txid)
  const after = new Set(seen())
  for (const one of before) if (!after.has(one)) undone.add(one)
  reached('sold channel whose funding was spent elsewhere')
  return true
}

/** Channels from a seller to a buyer: what was sold. */
function sold({ rows }: Simnet): readonly string[] | undefined {
  const found = rows<{ outpoint: string }>(
    `SELECT v.outpoint FROM channel_view v JOIN nodes s ON s.pubkey = v.a JOIN nodes b ON b.pubkey = v.b
     WHERE s.role = 'seller' AND b.role = 'buyer' AND v.state = 'published' AND v.is_seen = 1 AND v.is_spent = 0 AND v.held_msat = 0
       AND v.slots = 0 AND v.is_online = 1 AND v.funding_height IS NOT NULL`,
  ).map(({ outpoint }) => outpoint)
  return found.length === 0 ? undefined : found
}

/** A funding of a seller that waits for a block is replaced by a payment of the seller to itself. */
function evict({ simnet: { control, rows }, draws, note, paidFor }: Sky): boolean {
  const waiting = rows<{ txid: string }>(
    `SELECT DISTINCT c.txid FROM channels c JOIN txs t ON t.txid = c.txid JOIN nodes s ON s.pubkey = c.a
     WHERE s.role = 'seller' AND t.height IS NULL`,
  ).filter(({ txid }) => !paidFor().has(txid))
  if (waiting.length === 0) return false
  control.doubleSpend(draws.pick(waiting).txid)
  note('funding evicted')
  return true
}
