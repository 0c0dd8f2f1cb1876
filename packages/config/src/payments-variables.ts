import { z } from 'zod'
import { defineVariable, flag, wholeNumberIn, wholeNumberListOf } from './value-schemas.ts'

/** Settings of payments: limits, the sandbox, webhooks, and the keys of the vault. */
export const paymentsVariables = {
  serviceKeyPerMinute: defineVariable(
    'PENSTOCK_SERVICE_KEY_PER_MINUTE',
    'payment operations per minute and service API key; 0: no limit',
    wholeNumberIn(0, 1_000_000),
    '600',
  ),
  sandboxOutcomeSeconds: defineVariable(
    'PENSTOCK_SANDBOX_OUTCOME_SECONDS',
    'seconds after which a transaction of a sandbox completes or fails, if its caller asked for that',
    wholeNumberIn(0, 3600),
    '1',
  ),
  webhookAllowLoopback: defineVariable(
    'PENSTOCK_WEBHOOK_ALLOW_LOOPBACK',
    '1: webhooks may go to this machine (127.0.0.0/8, ::1, localhost), by http too and on every port, for development',
    flag,
    '0',
  ),
  webhookWaitsSeconds: defineVariable(
    'PENSTOCK_WEBHOOK_WAITS_SECONDS',
    'seconds between the eight attempts of a webhook delivery: seven whole numbers, separated by commas',
    wholeNumberListOf(7, 0, 86_400),
    '10,60,600,600,600,600,600',
  ),
  webhookBodyDays: defineVariable(
    'PENSTOCK_WEBHOOK_BODY_DAYS',
    'days after which the bodies of webhook events are deleted',
    wholeNumberIn(5, 3650),
    '30',
  ),
  webhookLogDays: defineVariable(
    'PENSTOCK_WEBHOOK_LOG_DAYS',
    'days after which webhook events and their attempts are deleted',
    wholeNumberIn(5, 3650),
    '60',
  ),
  vaultFile: defineVariable(
    'PENSTOCK_VAULT_FILE',
    'file with the private keys of the vault, for payments; empty: vault.json of the data folder',
    z.string(),
    '',
  ),
  vaultPublicFile: defineVariable(
    'PENSTOCK_VAULT_PUBLIC_FILE',
    'file with the public keys of the vault, for the gateway; empty: vault.pub.json of the data folder',
    z.string(),
    '',
  ),
} as const
