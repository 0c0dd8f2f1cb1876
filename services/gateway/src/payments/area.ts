import { environmentContract } from '@penstock/contracts/payments/environment.ts'
import { receiveContract } from '@penstock/contracts/payments/receive.ts'
import { sendContract } from '@penstock/contracts/payments/send.ts'
import { walletContract } from '@penstock/contracts/payments/wallet.ts'
import { applyEach, type Area, readSdl } from '../area.ts'
import { eraseDeletedContent } from './erase.ts'
import { createPaymentsGaugeReader } from './read/gauges.ts'
import { createEnvironment } from './use-cases/create-environment.ts'
import { createReceive } from './use-cases/create-receive.ts'
import { createSend } from './use-cases/create-send.ts'
import { createWallet } from './use-cases/create-wallet.ts'
import { deleteEnvironment } from './use-cases/delete-environment.ts'
import { deleteWallet } from './use-cases/delete-wallet.ts'
import { getSupportedAssets, getTaprootAssets } from './use-cases/get-assets.ts'
import { getEnvironment } from './use-cases/get-environment.ts'
import { getEnvironments } from './use-cases/get-environments.ts'
import { getTransaction } from './use-cases/get-transaction.ts'
import { getTransactions } from './use-cases/get-transactions.ts'
import { getWallet } from './use-cases/get-wallet.ts'
import { getWallets } from './use-cases/get-wallets.ts'
import { applyToPayments } from './views/payments.ts'
import { paymentsMigrations } from './views/tables.ts'

/** Environments, wallets and transactions of the payments API. */
export const paymentsArea: Area = {
  sdl: [readSdl('payment.graphql', import.meta.url)],
  useCases: [
    getEnvironment,
    getEnvironments,
    createEnvironment,
    deleteEnvironment,
    getWallet,
    getWallets,
    createWallet,
    deleteWallet,
    getTransaction,
    getTransactions,
    createReceive,
    createSend,
    getSupportedAssets,
    getTaprootAssets,
  ],
  namespaceIds: {
    // Clients take the team's id as the salt of its password. A team has one account, so the ids are equal.
    payment: ({ bearer, service }) => service?.teamId ?? (bearer?.kind === 'token' ? bearer.accountId : 'payment'),
  },
  projections: [
    {
      name: 'payments',
      version: 1,
      from: [environmentContract, walletContract, receiveContract, sendContract],
      // The table of erasures is not folded from facts.
      tables: [
        'gateway_environments',
        'gateway_wallets',
        'gateway_wallet_totals',
        'gateway_transactions',
        'gateway_transaction_facts',
      ],
      apply: applyEach(applyToPayments),
    },
  ],
  migrations: paymentsMigrations,
  prune: eraseDeletedContent,
  createGaugeReader: createPaymentsGaugeReader,
}
