import { challengeLogin } from './account/use-cases/challenge-login.ts'
import { challengeNode } from './account/use-cases/challenge-node.ts'
import { changePassword } from './account/use-cases/change-password.ts'
import { connectNode } from './account/use-cases/connect-node.ts'
import { createAccount } from './account/use-cases/create-account.ts'
import { createApiKey } from './account/use-cases/create-api-key.ts'
import { deleteAccount } from './account/use-cases/delete-account.ts'
import { getApiKeys } from './account/use-cases/get-api-keys.ts'
import { getOwnAccount } from './account/use-cases/get-own-account.ts'
import { getSessions } from './account/use-cases/get-sessions.ts'
import { logIn } from './account/use-cases/log-in.ts'
import { logOutEverywhere } from './account/use-cases/log-out-everywhere.ts'
import { logOut } from './account/use-cases/log-out.ts'
import { revokeApiKey } from './account/use-cases/revoke-api-key.ts'
import { buyLiquidity } from './market/use-cases/buy-liquidity.ts'
import { acceptOrder } from './market/use-cases/accept-order.ts'
import { addTransaction } from './market/use-cases/add-transaction.ts'
import { cancelOrder } from './market/use-cases/cancel-order.ts'
import { createManualOrder } from './market/use-cases/create-manual-order.ts'
import { createOffer } from './market/use-cases/create-offer.ts'
import { getOffer, getOwnOffer } from './market/use-cases/get-offer.ts'
import { getOffers, getOwnOffers } from './market/use-cases/get-offers.ts'
import { getPrice } from './market/use-cases/get-price.ts'
import { rejectOrder } from './market/use-cases/reject-order.ts'
import { submitAttestation } from './market/use-cases/submit-attestation.ts'
import { toggleOffer } from './market/use-cases/toggle-offer.ts'
import { updateOffer } from './market/use-cases/update-offer.ts'
import type { UseCase } from './use-case.ts'
import { getOrder } from './market/use-cases/get-order.ts'
import { getPurchases, getSales } from './market/use-cases/get-orders.ts'
import { getTransactions } from './market/use-cases/get-transactions.ts'

/** All use cases of GraphQL. Its resolvers and its rate limits are derived from this list. */
export const useCases: readonly UseCase[] = [
  getOffers,
  getOffer,
  getPrice,
  getOrder,
  getPurchases,
  getSales,
  getOwnOffers,
  getOwnOffer,
  getTransactions,
  getOwnAccount,
  getSessions,
  getApiKeys,
  createOffer,
  updateOffer,
  toggleOffer,
  submitAttestation,
  buyLiquidity,
  createManualOrder,
  cancelOrder,
  acceptOrder,
  rejectOrder,
  addTransaction,
  createAccount,
  logIn,
  challengeLogin,
  logOut,
  logOutEverywhere,
  changePassword,
  deleteAccount,
  createApiKey,
  revokeApiKey,
  challengeNode,
  connectNode,
]
