import { challengeLogin } from './account/challenge-login.ts'
import { challengeNode } from './account/challenge-node.ts'
import { changePassword } from './account/change-password.ts'
import { connectNode } from './account/connect-node.ts'
import { createAccount } from './account/create-account.ts'
import { createApiKey } from './account/create-api-key.ts'
import { deleteAccount } from './account/delete-account.ts'
import { getApiKeys } from './account/get-api-keys.ts'
import { getOwnAccount } from './account/get-own-account.ts'
import { getSessions } from './account/get-sessions.ts'
import { logIn } from './account/log-in.ts'
import { logOutEverywhere } from './account/log-out-everywhere.ts'
import { logOut } from './account/log-out.ts'
import { revokeApiKey } from './account/revoke-api-key.ts'
import { buyLiquidity } from './liquidity/buy-liquidity.ts'
import { acceptOrder } from './market/accept-order.ts'
import { addTransaction } from './market/add-transaction.ts'
import { cancelOrder } from './market/cancel-order.ts'
import { createManualOrder } from './market/create-manual-order.ts'
import { createOffer } from './market/create-offer.ts'
import { getOffer, getOwnOffer } from './market/get-offer.ts'
import { getOffers, getOwnOffers } from './market/get-offers.ts'
import { getPrice } from './market/get-price.ts'
import { rejectOrder } from './market/reject-order.ts'
import { submitAttestation } from './market/submit-attestation.ts'
import { toggleOffer } from './market/toggle-offer.ts'
import { updateOffer } from './market/update-offer.ts'
import type { UseCase } from './use-case.ts'
import { getOrder } from './user/get-order.ts'
import { getPurchases, getSales } from './user/get-orders.ts'
import { getTransactions } from './user/get-transactions.ts'

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
