import { isoTime } from '@penstock/kernel/time.ts'
import type { Gateway } from '../../ports.ts'
import { findAccount, listConnectedNodes } from '../read/accounts.ts'
import { readRecordText } from '../../read-record-text.ts'

/** Returns an account as the API shows it to its owner. */
export async function readProfile({ views, records, lookUpNode }: Gateway, accountId: string) {
  const accountRow = await findAccount(views, accountId)
  const nodes = await listConnectedNodes(views, accountId)
  return {
    id: accountId,
    email: (await readRecordText(records, accountRow?.email_record ?? null, 'email')) ?? null,
    created_at: accountRow ? isoTime(accountRow.created_at) : null,
    nodes: nodes.map(({ pubkey }) => ({ id: pubkey, pubkey, alias: async () => (await lookUpNode(pubkey)).alias })),
  }
}
