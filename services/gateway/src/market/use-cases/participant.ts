import type { Gateway } from '../../ports.ts'
import { createNotFoundError } from '../read/not-found.ts'
import { findOrderForAccount } from '../read/sales.ts'

/** @throws the error for an unknown order unless the account is the buyer or a seller of the order */
export async function assertParticipant({ views }: Gateway, accountId: string, orderId: string): Promise<void> {
  if (!(await findOrderForAccount(views, accountId, orderId))) throw await createNotFoundError(views, orderId)
}
