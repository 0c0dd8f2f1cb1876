import { isoTime } from '@penstock/kernel/time.ts'
import { assert } from '@penstock/kernel/result.ts'
import type { Gateway } from '../../ports.ts'
import { readRecordText, type RecordReader } from '../../read-record-text.ts'
import { findEnvironment } from '../read/environments.ts'
import { readWalletSums } from '../read/wallets.ts'
import type { PaymentsTables } from '../views/tables.ts'
import { requireAsset, toBitcoinAssetRecord } from './asset-record.ts'
import { toEnvironmentRecord } from './environment-record.ts'

type RecordPorts = Pick<Gateway, 'views' | 'records'>
type Row = PaymentsTables['gateway_wallets']

/** Returns a wallet as it is listed. */
export function toSimpleWalletRecord(records: RecordReader, row: Row) {
  const asset = requireAsset(row.asset_id)
  const createdAt = isoTime(row.created_at)
  return {
    id: row.id,
    name: async () => (await readRecordText(records, row.name_record, 'name')) ?? asset.symbol,
    asset_id: asset.id,
    asset: toBitcoinAssetRecord(asset),
    environment_id: row.environment_id,
    is_ready: true,
    created_at: createdAt,
    // No command changes a wallet.
    updated_at: createdAt,
  }
}

/** Returns a wallet with its environment and its balance. */
export const toWalletRecord = (gateway: RecordPorts, row: Row) => ({
  ...toSimpleWalletRecord(gateway.records, row),
  team_id: row.team_id,
  environment: async () => {
    const environment = await findEnvironment(gateway.views, row.environment_id)
    assert(environment, `wallet ${row.id} is shown without its environment`)
    return toEnvironmentRecord(gateway, environment)
  },
  balance: () => readBalance(gateway, row.id),
})

async function readBalance({ views }: RecordPorts, walletId: string) {
  const { received, sent, fees } = await readWalletSums(views, walletId)
  return { id: `${walletId}/balance`, balance: `${BigInt(received) - BigInt(sent) - BigInt(fees)}`, received, sent }
}
