import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** What the simulated network itself knows, read from its own file: nothing of it comes from the market. */
export type Truth = {
  readonly height: number
  readonly market: string
  readonly payments: readonly Payment[]
  readonly channels: ReadonlyMap<string, Channel>
  /** By the payee's key and the payment hash. */
  readonly invoices: readonly Invoice[]
  readonly held: readonly Htlc[]
}
export type Payment = {
  readonly payer: string
  readonly payee: string
  readonly payment_hash: string
  readonly amount_msat: bigint
  readonly fee_msat: bigint
  readonly state: 'in-flight' | 'succeeded' | 'failed'
}
export type Channel = {
  readonly outpoint: string
  readonly a: string
  readonly b: string
  readonly capacity_sat: bigint
  readonly is_private: bigint
  readonly state: string
  readonly funding_height: bigint | null
  readonly is_spent: bigint
}
export type Invoice = {
  readonly node: string
  readonly role: string
  readonly payment_hash: string
  readonly amount_msat: bigint
  readonly state: string
}
export type Htlc = {
  readonly payment_hash: string
  readonly receiver: string
  readonly expiry_height: bigint
  readonly is_last: bigint
}

/** What hangs at the market's node itself: payments that it could still take or give back. */
export const heldAtMarket = ({ held, market }: Pick<Truth, 'held' | 'market'>): readonly Htlc[] =>
  held.filter(({ is_last, receiver }) => is_last === 1n && receiver === market)

/** Reads rows of the network's tables, with integers as bigints. */
export type Rows = <Row>(sql: string) => readonly Row[]

export function truthOf(dataDir: string): Truth {
  const db = new DatabaseSync(join(dataDir, 'simnet.db'), { readOnly: true })
  try {
    return truthFrom(<Row>(sql: string): readonly Row[] => {
      const statement = db.prepare(sql)
      statement.setReadBigInts(true)
      return statement.all() as readonly unknown[] as readonly Row[] // the columns that each type above names
    })
  } finally {
    db.close()
  }
}

export function heightIn(dataDir: string): number {
  const db = new DatabaseSync(join(dataDir, 'simnet.db'), { readOnly: true })
  try {
    return Number(db.prepare('SELECT max(height) AS height FROM blocks').get()?.['height'] ?? 0)
  } finally {
    db.close()
  }
}

/** A block as the network has it; `time`: milliseconds since 1970, of whole seconds. */
export type Block = { readonly height: number; readonly time: number }

export function blocksIn(dataDir: string): readonly Block[] {
  const db = new DatabaseSync(join(dataDir, 'simnet.db'), { readOnly: true })
  try {
    const rows = db.prepare('SELECT height, time FROM blocks ORDER BY height').all()
    return rows.map(({ height, time }) => ({ height: Number(height), time: Number(time) }))
  } finally {
    db.close()
  }
}

/** How many confirmations the channels have whose fundings were confirmed last, the youngest first. */
export function youngestFundings(dataDir: string): readonly number[] {
  const db = new DatabaseSync(join(dataDir, 'simnet.db'), { readOnly: true })
  try {
    const rows = db.prepare(
      'SELECT (SELECT max(height) FROM blocks) - funding_height + 1 AS depth FROM channel_view WHERE funding_height IS NOT NULL ORDER BY depth LIMIT 20',
    )
    return rows.all().map(({ depth }) => Number(depth))
  } finally {
    db.close()
  }
}

export function truthFrom(all: Rows): Truth {
  const channels = all<Channel>('SELECT * FROM channel_view')
  return {
    height: Number(all<{ height: bigint }>('SELECT max(height) AS height FROM blocks')[0]?.height ?? 0n),
    market: all<{ pubkey: string }>("SELECT pubkey FROM nodes WHERE role = 'market'")[0]?.pubkey ?? '',
    payments: all<Payment>('SELECT * FROM payments'),
    channels: new Map(channels.map((channel) => [channel.outpoint, channel])),
    invoices: all<Invoice>('SELECT i.*, n.role FROM invoices i JOIN nodes n ON n.pubkey = i.node'),
    held: all<Htlc>("SELECT * FROM htlcs WHERE state = 'held'"),
  }
}
