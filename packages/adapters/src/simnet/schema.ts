import type { DatabaseSync } from 'node:sqlite'

/** Confirmations after which both nodes use a channel. */
export const ACTIVE_AT_DEPTH = 3

/**
 * SQL condition for a confirmed coin of a node that is neither spent nor locked.
 * @param row the row of a trigger, such as `OLD.`
 */
export const freeCoinSql = (row = ''): string =>
  `${row}owner IS NOT NULL AND ${row}spent_by IS NULL AND ${row}locked_by IS NULL AND ${row}is_confirmed = 1`

const addToWalletSql = (row: 'OLD' | 'NEW', sign: '' | '-'): string =>
  `INSERT INTO wallets VALUES (${row}.owner, ${sign}${row}.value_sat)
     ON CONFLICT DO UPDATE SET free_sat = free_sat + excluded.free_sat;`

/**
 * Triggers that maintain the sum of each wallet. Counting would be slow, because a seller has a coin for each channel that was
 * ever closed.
 */
const TRIGGERS = `
CREATE TRIGGER IF NOT EXISTS tx_confirmed AFTER UPDATE OF height ON txs WHEN (OLD.height IS NULL) <> (NEW.height IS NULL) BEGIN
  UPDATE outputs SET is_confirmed = NEW.height IS NOT NULL WHERE txid = NEW.txid;
END;
CREATE TRIGGER IF NOT EXISTS coin_freed AFTER UPDATE ON outputs WHEN (${freeCoinSql('NEW.')}) AND NOT (${freeCoinSql('OLD.')}) BEGIN
  ${addToWalletSql('NEW', '')}
END;
CREATE TRIGGER IF NOT EXISTS coin_taken AFTER UPDATE ON outputs WHEN (${freeCoinSql('OLD.')}) AND NOT (${freeCoinSql('NEW.')}) BEGIN
  ${addToWalletSql('OLD', '-')}
END;
CREATE TRIGGER IF NOT EXISTS coin_gone AFTER DELETE ON outputs WHEN ${freeCoinSql('OLD.')} BEGIN
  ${addToWalletSql('OLD', '-')}
END;`

/**
 * The state of the simulated network. Amounts are integers in the unit of their name; `a` is the node that opened a channel.
 * `waits_since` is the time at which a part of an incomplete payment arrived. `pending_until` is the height at which the peer
 * forgets an abandoned opening; null once it has.
 * `closed_height` excludes channels that are closed on chain from the indexes, because a node may have sold thousands.
 * `used_height` and `used_index` are the position of the funding when the channel became active, by which nodes identify it for
 * good. `is_unlisted` marks a channel whose block a re-organisation replaced, so that no graph contains it.
 */
const SCHEMA = `
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS nodes (
  position INTEGER PRIMARY KEY, alias TEXT NOT NULL UNIQUE, role TEXT NOT NULL, pubkey TEXT NOT NULL UNIQUE,
  script TEXT NOT NULL UNIQUE, socket TEXT NOT NULL, behaviour TEXT NOT NULL DEFAULT 'ok', online INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE TABLE IF NOT EXISTS peers (a TEXT NOT NULL, b TEXT NOT NULL, PRIMARY KEY (a, b)) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS blocks (height INTEGER PRIMARY KEY, hash TEXT NOT NULL, previous_hash TEXT NOT NULL, time INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS txs (
  seq INTEGER PRIMARY KEY, txid TEXT NOT NULL UNIQUE, raw TEXT NOT NULL, fee_sat INTEGER NOT NULL, vsize INTEGER NOT NULL,
  is_coinbase INTEGER NOT NULL, height INTEGER, tx_index INTEGER, entered_at INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS txs_by_height ON txs (height, tx_index);
CREATE INDEX IF NOT EXISTS txs_in_mempool ON txs (seq) WHERE height IS NULL;
CREATE TABLE IF NOT EXISTS outputs (
  txid TEXT NOT NULL, vout INTEGER NOT NULL, value_sat INTEGER NOT NULL CHECK (value_sat >= 0), script TEXT NOT NULL,
  owner TEXT, locked_by TEXT, spent_by TEXT, is_confirmed INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (txid, vout)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS coins ON outputs (owner, value_sat) WHERE owner IS NOT NULL AND spent_by IS NULL;
CREATE INDEX IF NOT EXISTS outputs_spent ON outputs (spent_by) WHERE spent_by IS NOT NULL;
CREATE INDEX IF NOT EXISTS outputs_locked ON outputs (locked_by) WHERE locked_by IS NOT NULL;

CREATE TABLE IF NOT EXISTS wallets (owner TEXT PRIMARY KEY, free_sat INTEGER NOT NULL) STRICT, WITHOUT ROWID;
${TRIGGERS}
CREATE TABLE IF NOT EXISTS channels (
  id INTEGER PRIMARY KEY, outpoint TEXT NOT NULL UNIQUE, txid TEXT NOT NULL, vout INTEGER NOT NULL,
  a TEXT NOT NULL, b TEXT NOT NULL, a_key TEXT NOT NULL, b_key TEXT NOT NULL,
  capacity_sat INTEGER NOT NULL, is_private INTEGER NOT NULL, raw TEXT NOT NULL, fee_sat INTEGER NOT NULL, vsize INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('prepared', 'vanished', 'published', 'abandoned')),
  a_msat INTEGER NOT NULL CHECK (a_msat >= 0), b_msat INTEGER NOT NULL CHECK (b_msat >= 0),
  held_msat INTEGER NOT NULL DEFAULT 0 CHECK (held_msat >= 0), slots INTEGER NOT NULL DEFAULT 0 CHECK (slots >= 0),
  a_base_msat INTEGER NOT NULL, a_ppm INTEGER NOT NULL, b_base_msat INTEGER NOT NULL, b_ppm INTEGER NOT NULL,
  claimed_peer TEXT NOT NULL, claimed_sat INTEGER NOT NULL, closed_height INTEGER, closed_by TEXT, is_forced INTEGER,
  used_height INTEGER, used_index INTEGER, is_unlisted INTEGER NOT NULL DEFAULT 0, pending_until INTEGER,
  is_taproot INTEGER NOT NULL DEFAULT 0,
  CHECK (a_msat + b_msat + held_msat = capacity_sat * 1000)
) STRICT;
CREATE INDEX IF NOT EXISTS channels_to_a ON channels (a, b_msat) WHERE closed_height IS NULL;
CREATE INDEX IF NOT EXISTS channels_to_b ON channels (b, a_msat) WHERE closed_height IS NULL;
CREATE INDEX IF NOT EXISTS channels_by_ends ON channels (a, b) WHERE closed_height IS NULL;
CREATE INDEX IF NOT EXISTS channels_by_funding ON channels (txid);
CREATE INDEX IF NOT EXISTS channels_by_place ON channels (used_height, used_index) WHERE used_height IS NOT NULL;
CREATE INDEX IF NOT EXISTS channels_given_up ON channels (pending_until) WHERE pending_until IS NOT NULL AND state = 'abandoned';
CREATE INDEX IF NOT EXISTS channels_closed ON channels (closed_height) WHERE closed_height IS NOT NULL;
CREATE VIEW IF NOT EXISTS channel_view AS
  SELECT c.*, f.height AS funding_height, f.tx_index AS funding_index, f.txid IS NOT NULL AS is_seen,
         o.spent_by IS NOT NULL AS is_spent, s.height AS spent_height, na.online AND nb.online AS is_online
  FROM channels c JOIN nodes na ON na.pubkey = c.a JOIN nodes nb ON nb.pubkey = c.b LEFT JOIN txs f ON f.txid = c.txid
  LEFT JOIN outputs o ON o.txid = c.txid AND o.vout = c.vout LEFT JOIN txs s ON s.txid = o.spent_by;

CREATE TABLE IF NOT EXISTS invoices (
  node TEXT NOT NULL, payment_hash TEXT NOT NULL, request TEXT NOT NULL, amount_msat INTEGER NOT NULL, cltv_delta INTEGER NOT NULL,
  expires_at INTEGER NOT NULL, preimage TEXT, state TEXT NOT NULL CHECK (state IN ('open', 'held', 'settled', 'cancelled')),
  PRIMARY KEY (node, payment_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS invoices_open ON invoices (expires_at) WHERE state = 'open';
CREATE INDEX IF NOT EXISTS invoices_held ON invoices (node) WHERE state = 'held';
CREATE TABLE IF NOT EXISTS payments (
  payer TEXT NOT NULL, payment_hash TEXT NOT NULL, payee TEXT NOT NULL, amount_msat INTEGER NOT NULL, fee_msat INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('in-flight', 'succeeded', 'failed')), reason TEXT, preimage TEXT,
  PRIMARY KEY (payer, payment_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS payments_by_hash ON payments (payment_hash);
CREATE TABLE IF NOT EXISTS htlcs (
  id INTEGER PRIMARY KEY, payment_hash TEXT NOT NULL, payer TEXT NOT NULL, outpoint TEXT NOT NULL, sender TEXT NOT NULL,
  receiver TEXT NOT NULL, amount_msat INTEGER NOT NULL, expiry_height INTEGER NOT NULL, is_last INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('held', 'settled', 'cancelled')), waits_since INTEGER, accepted_at INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS htlcs_by_payment ON htlcs (payment_hash, payer);
CREATE INDEX IF NOT EXISTS htlcs_held ON htlcs (expiry_height) WHERE state = 'held';
CREATE INDEX IF NOT EXISTS htlcs_waiting ON htlcs (waits_since) WHERE waits_since IS NOT NULL AND state = 'held';
`

/** Creates or migrates the tables. A crash leaves an older file as it was. */
export function createSimnetTables(db: DatabaseSync): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    migrateTables(db)
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

function migrateTables(db: DatabaseSync): void {
  // A file of an older version may lack the columns of closed channels.
  for (const [column, type] of [
    ['closed_height', 'INTEGER'],
    ['closed_by', 'TEXT'],
    ['is_forced', 'INTEGER'],
  ] as const)
    addColumn(db, 'channels', column, type)
  const hadNoUsedHeight = addColumn(db, 'channels', 'used_height', 'INTEGER')
  addColumn(db, 'channels', 'used_index', 'INTEGER')
  addColumn(db, 'channels', 'is_unlisted', 'INTEGER NOT NULL DEFAULT 0')
  addColumn(db, 'channels', 'is_taproot', 'INTEGER NOT NULL DEFAULT 0')
  // In an older file no node waits for an abandoned funding, or for the other parts of a payment.
  addColumn(db, 'channels', 'pending_until', 'INTEGER')
  addColumn(db, 'htlcs', 'waits_since', 'INTEGER')
  // An older file also lacks the times at which transactions and payments arrived.
  addColumn(db, 'htlcs', 'accepted_at', 'INTEGER')
  addColumn(db, 'txs', 'entered_at', 'INTEGER')
  const hadNoConfirmations = addColumn(db, 'outputs', 'is_confirmed', 'INTEGER NOT NULL DEFAULT 0')
  db.exec(SCHEMA)
  // The triggers of the schema add these coins to the sums of the wallets.
  if (hadNoConfirmations)
    db.exec('UPDATE outputs SET is_confirmed = 1 WHERE txid IN (SELECT txid FROM txs WHERE height IS NOT NULL)')
  if (hadNoUsedHeight) db.exec(activateChannelsSql(`<= (SELECT max(height) FROM blocks) - ${ACTIVE_AT_DEPTH - 1}`))
}

/** SQL that activates the channels whose funding is at such a height, if they are not active yet. */
export const activateChannelsSql = (height: string): string =>
  `UPDATE channels SET used_height = t.height, used_index = t.tx_index FROM txs t
   WHERE t.txid = channels.txid AND t.height ${height} AND channels.used_height IS NULL`

/** @returns whether the table existed without the column, and the column was added */
function addColumn(db: DatabaseSync, table: string, column: string, type: string): boolean {
  const columns = db.prepare('SELECT name FROM pragma_table_info(?)').all(table)
  if (columns.length === 0 || columns.some(({ name }) => name === column)) return false
  db.exec(`ALTER TABLE ${table} ADD COLUMN ${column} ${type}`)
  return true
}
