import type { Gateway } from '../../ports.ts'
import { createNotFoundError } from '../read/not-found.ts'
import { type AccountRole, findOrderForAccount } from '../read/sales.ts'

/** @throws the error for an unknown order unless the account is the buyer or a seller of the order */
export async function requireRole({ views }: Gateway, accountId: string, orderId: string): Promise<AccountRole> {
  const found = await findOrderForAccount(views, accountId, orderId)
  if (!found) throw await createNotFoundError(views, orderId)
  return found.role
}
