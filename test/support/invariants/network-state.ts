import { readDatabase } from '../sqlite.ts'

/** The state of the simulated network, read from the database file of the network and not from the market. */
export type NetworkState = {
  readonly height: number
  readonly marketPubkey: string
  readonly payments: readonly NetworkPayment[]
  readonly channels: ReadonlyMap<string, NetworkChannel>
  /** All invoices of all nodes, each identified by its node and payment hash. */
  readonly invoices: readonly NetworkInvoice[]
  readonly heldHtlcs: readonly NetworkHtlc[]
}
export type NetworkPayment = {
  readonly payer: string
  readonly payee: string
  readonly payment_hash: string
  readonly amount_msat: bigint
  readonly fee_msat: bigint
  readonly state: 'in-flight' | 'succeeded' | 'failed'
}
/** `a`: the node that opened the channel. `b`: its peer. */
export type NetworkChannel = {
  readonly outpoint: string
  readonly a: string
  readonly b: string
  readonly capacity_sat: bigint
  readonly is_private: bigint
  readonly state: string
  readonly funding_height: bigint | null
  readonly is_spent: bigint
}
export type NetworkInvoice = {
  readonly node: string
  readonly role: string
  readonly payment_hash: string
  readonly amount_msat: bigint
  readonly state: string
}
export type NetworkHtlc = {
  readonly payment_hash: string
  readonly receiver: string
  readonly expiry_height: bigint
  readonly is_last: bigint
}

/** Lists the held HTLCs of payments to the market's node, which the node can still settle or cancel. */
export const findHtlcsAtMarket = ({
  heldHtlcs,
  marketPubkey,
}: Pick<NetworkState, 'heldHtlcs' | 'marketPubkey'>): readonly NetworkHtlc[] =>
  heldHtlcs.filter(({ is_last, receiver }) => is_last === 1n && receiver === marketPubkey)

/** Reads rows of the network's tables, with integers as bigints. */
export type ReadNetworkRows = <Row>(sql: string) => readonly Row[]

export const readNetworkState = (dataDir: string): NetworkState => readNetwork(dataDir, buildNetworkState)

/** Reads the database file of the simulated network. */
export const readNetwork = <T>(dataDir: string, read: (rows: ReadNetworkRows) => T): T =>
  readDatabase(dataDir, 'simnet.db', (db) =>
    read(<Row>(sql: string): readonly Row[] => {
      const statement = db.prepare(sql)
      statement.setReadBigInts(true)
      return statement.all() as readonly unknown[] as readonly Row[] // The caller names the columns.
    }),
  )

export const readNetworkHeight = (dataDir: string): number => readNetwork(dataDir, findHeight)

const findHeight: (rows: ReadNetworkRows) => number = (rows) =>
  Number(rows<{ height: bigint | null }>('SELECT max(height) AS height FROM blocks')[0]?.height ?? 0n)

/** A block of the network. `time` is in milliseconds since 1970, rounded to seconds. */
export type NetworkBlock = { readonly height: number; readonly time: number }

export const readNetworkBlocks = (dataDir: string): readonly NetworkBlock[] =>
  readNetwork(dataDir, (rows) => rows<{ height: bigint; time: bigint }>('SELECT height, time FROM blocks ORDER BY height')).map(
    ({ height, time }) => ({ height: Number(height), time: Number(time) }),
  )

/** Reads the numbers of confirmations of the 20 channels that were confirmed last, the lowest number first. */
export const readYoungestConfirmations = (dataDir: string): readonly number[] =>
  readNetwork(dataDir, (rows) =>
    rows<{ depth: bigint }>(
      'SELECT (SELECT max(height) FROM blocks) - funding_height + 1 AS depth FROM channel_view WHERE funding_height IS NOT NULL ORDER BY depth LIMIT 20',
    ),
  ).map(({ depth }) => Number(depth))

export function buildNetworkState(readRows: ReadNetworkRows): NetworkState {
  const channels = readRows<NetworkChannel>('SELECT * FROM channel_view')
  return {
    height: findHeight(readRows),
    marketPubkey: readRows<{ pubkey: string }>("SELECT pubkey FROM nodes WHERE role = 'market'")[0]?.pubkey ?? '',
    payments: readRows<NetworkPayment>('SELECT * FROM payments'),
    channels: new Map(channels.map((channel) => [channel.outpoint, channel])),
    invoices: readRows<NetworkInvoice>('SELECT i.*, n.role FROM invoices i JOIN nodes n ON n.pubkey = i.node'),
    heldHtlcs: readRows<NetworkHtlc>("SELECT * FROM htlcs WHERE state = 'held'"),
  }
}
