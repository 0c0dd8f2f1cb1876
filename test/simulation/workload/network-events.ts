import type { NodeBehaviour } from '@penstock/adapters/simnet/nodes.ts'
import type { Simnet } from '@penstock/adapters/simnet/simnet.ts'
import type { Prng } from '@penstock/adapters/deterministic/prng.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { NetworkEvent } from '../plan/plan.ts'
import type { CountOccurrence } from '../coverage.ts'

type NetworkEventContext = {
  readonly simnet: Simnet
  readonly clock: Clock
  readonly draws: Prng
  readonly note: (text: string) => void
  readonly countOccurrence: CountOccurrence
  /** @returns the ids of funding transactions whose channels were paid for; events must not remove these */
  readonly listPaidFundings: () => ReadonlySet<string>
}

/** Applies one event to the network at its planned time, and counts the event if it had an effect. */
export async function applyNetworkEvent(context: NetworkEventContext, event: NetworkEvent): Promise<void> {
  await context.clock.sleep(event.atMs)
  if ((await applyEvent(context, event)) !== NO_EFFECT) context.countOccurrence(`weather: ${event.kind}`)
}

/** The result of an event without a target. */
const NO_EFFECT = Symbol('nothing')

async function applyEvent(context: NetworkEventContext, event: NetworkEvent): Promise<void | typeof NO_EFFECT> {
  const { simnet, clock, draws, note, countOccurrence } = context
  const { control } = simnet
  switch (event.kind) {
    case 'behave':
      return control.behave(event.alias, event.behaviour)
    case 'offline':
      control.setOnline(event.alias, false)
      await clock.sleep(event.forMs)
      return control.setOnline(event.alias, true)
    case 'keep probes':
      control.holdProbes(event.alias, true)
      await clock.sleep(event.forMs)
      return control.holdProbes(event.alias, false)
    case 'reorg':
      return reorganiseNetwork({ simnet, countOccurrence }, event.depth, event.remine) ? undefined : NO_EFFECT
    case 'evict':
      return evictFunding(context) ? undefined : NO_EFFECT
    case 'close': {
      const outpoints = listSoldChannels(simnet)
      if (outpoints === undefined) return NO_EFFECT
      const outpointToClose = draws.pick(outpoints)
      control.close(outpointToClose, { force: event.force })
      return note('channel closed')
    }
    case 'dear blocks':
      control.feeFloor(event.satPerVbyte)
      await clock.sleep(event.forMs)
      return control.feeFloor(0)
    case 'mine':
      return void control.mine(event.blocks)
  }
}

/** Ends all network events: nodes are online and behave normally, and blocks have no fee floor. */
export function restoreNetwork({ control }: Simnet): void {
  control.feeFloor(0)
  const normalBehaviour: NodeBehaviour = 'ok'
  for (const { alias } of control.nodes()) {
    control.setOnline(alias, true)
    control.holdProbes(alias, false)
    control.behave(alias, normalBehaviour)
  }
}

type ReorgContext = { readonly simnet: Simnet; readonly countOccurrence: CountOccurrence }

/** Replaces the newest blocks, at most back to the network's first block. @returns whether a block was removed */
export function reorganiseNetwork(
  { simnet: { control, rows }, countOccurrence }: ReorgContext,
  depth: number,
  remine: boolean,
): boolean {
  const [first] = rows<{ value: string }>("SELECT value FROM meta WHERE key = 'first_height'")
  const [newest] = rows<{ height: bigint }>('SELECT max(height) AS height FROM blocks')
  const maxDepth = Number(newest?.height ?? 0) - Number(first?.value ?? 0)
  if (maxDepth <= 0) return false
  const countConfirmed = (): number =>
    rows('SELECT 1 FROM channels c JOIN txs t ON t.txid = c.txid WHERE t.height IS NOT NULL').length
  const previous = countConfirmed()
  control.reorg(Math.min(depth, maxDepth), { remine })
  countOccurrence('re-org')
  if (remine) countOccurrence('re-org that kept the transactions')
  if (countConfirmed() < previous) countOccurrence('re-org that took a funding out of its block')
  return true
}

/** The depth in blocks of the deepest re-organisation that the market has to handle. */
const MAX_UNDO_DEPTH = 7

/**
 * Removes a seller's funding from its block by a re-organisation, and replaces it by a double spend. Fundings that spend its
 * change become invalid too, so their outpoints are also added to `undoneFundings`.
 * @returns whether the funding was replaced
 */
export function undoFunding(
  { simnet, countOccurrence, undoneFundings }: ReorgContext & { readonly undoneFundings: Set<string> },
  outpoint: string,
): boolean {
  const { control, rows } = simnet
  const [funding] = rows<{ txid: string; funding_height: bigint | null; height: bigint }>(
    `SELECT txid, funding_height, (SELECT max(height) FROM blocks) AS height FROM channel_view
     WHERE outpoint = '${outpoint}' AND is_seen = 1 AND is_spent = 0 AND held_msat = 0 AND slots = 0`,
  )
  if (!funding) return false
  const depth = funding.funding_height === null ? 0 : Number(funding.height - funding.funding_height) + 1
  if (depth > MAX_UNDO_DEPTH || (depth > 0 && !reorganiseNetwork({ simnet, countOccurrence }, depth, false))) return false
  const listSeen = (): readonly string[] =>
    rows<{ outpoint: string }>("SELECT outpoint FROM channel_view WHERE state = 'published' AND is_seen = 1").map(
      (channel) => channel.outpoint,
    )
  const previous = listSeen()
  control.doubleSpend(funding.txid)
  const remaining = new Set(listSeen())
  for (const lostOutpoint of previous) if (!remaining.has(lostOutpoint)) undoneFundings.add(lostOutpoint)
  countOccurrence('sold channel whose funding was spent elsewhere')
  return true
}

/** @returns the outpoints of open channels from a seller to a buyer, or undefined if there are none */
function listSoldChannels({ rows }: Simnet): readonly string[] | undefined {
  const outpoints = rows<{ outpoint: string }>(
    `SELECT v.outpoint FROM channel_view v JOIN nodes s ON s.pubkey = v.a JOIN nodes b ON b.pubkey = v.b
     WHERE s.role = 'seller' AND b.role = 'buyer' AND v.state = 'published' AND v.is_seen = 1 AND v.is_spent = 0 AND v.held_msat = 0
       AND v.slots = 0 AND v.is_online = 1 AND v.funding_height IS NOT NULL`,
  ).map(({ outpoint }) => outpoint)
  return outpoints.length === 0 ? undefined : outpoints
}

/** Replaces an unconfirmed funding of a seller by a double spend. */
function evictFunding({ simnet: { control, rows }, draws, note, listPaidFundings }: NetworkEventContext): boolean {
  const unconfirmed = rows<{ txid: string }>(
    `SELECT DISTINCT c.txid FROM channels c JOIN txs t ON t.txid = c.txid JOIN nodes s ON s.pubkey = c.a
     WHERE s.role = 'seller' AND t.height IS NULL`,
  ).filter(({ txid }) => !listPaidFundings().has(txid))
  if (unconfirmed.length === 0) return false
  control.doubleSpend(draws.pick(unconfirmed).txid)
  note('funding evicted')
  return true
}
