import { openStored } from '@penstock/platforms/stored.ts'
import { audit, type AuditReport } from '@penstock/runtime/audit.ts'
import { audited } from './assembly.ts'

/** Audits the store of an embedded installation, beside a running server or without one. */
export async function verifyStore(path: string): Promise<AuditReport> {
  const store = openStored(path)
  try {
    return await audit(store, audited())
  } finally {
    await store.close()
  }
}
