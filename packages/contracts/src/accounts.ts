import { z } from 'zod'
import { defineContract, v1, v2, type CommandsOf, type FactsOf, type TargetOf } from './define.ts'
import { instant, pubkey, sentence, uuid } from './shapes.ts'

/** Hashes of credentials are HMAC-SHA256 with the operator's pepper, in hex; a credential itself is never in a message. */
const keyHash = z.string().regex(/^[0-9a-f]{64}$/)
const apiKey = z.strictObject({
  keyId: uuid,
  keyHash,
  prefix: z.string().max(16),
  suffix: z.string().max(8),
  nameRecord: uuid.nullable(),
  expiresAt: instant.nullable(),
})

const challenge = z.string().min(32).max(256)
const byOperator = z.strictObject({ by: z.string().min(1), reason: sentence })

/** A caller's account: an anonymous buyer with a session key, or a person with an e-mail address, keys and nodes. */
export const accountContract = defineContract('account', 'accounts', {
  relatedTo: { subject: 'order', isClaim: false },
  facts: {
    /** `emailRecord` and `passwordRecord` are ids of rows outside the streams, so that they can be deleted. */
    AccountCreated: v1(z.strictObject({ emailHash: keyHash, emailRecord: uuid, passwordRecord: uuid })),
    /** An anonymous identity, opened by a purchase. */
    SessionOpened: v1(z.strictObject({ keyHash, orderId: uuid.nullable() })),
    /** A key for one order of a caller that has an API key. The key can read only that order. */
    OrderKeyIssued: v1(z.strictObject({ keyHash, orderId: uuid })),
    LoginRecorded: v1(z.strictObject({ tokenHash: keyHash, expiresAt: instant })),
    /** A node logged in by its signature of this challenge, which cannot be used again. */
    LoginChallengeUsed: v1(z.strictObject({ pubkey, challenge })),
    LoggedOut: v1(z.strictObject({ tokenHash: keyHash })),
    PasswordChanged: v1(z.strictObject({ passwordRecord: uuid })),
    /** All earlier log-in tokens are invalid; with `apiKeys` true, all API keys are, too. */
    LoggedOutEverywhere: v1(z.strictObject({ apiKeys: z.boolean() })),
    ApiKeyCreated: v1(apiKey),
    ApiKeyRevoked: v1(z.strictObject({ keyId: uuid })),
    NodeChallenged: v1(z.strictObject({ pubkey, challenge, expiresAt: instant })),
    NodeProofGiven: v1(z.strictObject({ pubkey, challenge })),
    NodeConnected: v1(z.strictObject({ pubkey })),
    NodeRefused: v1(z.strictObject({ pubkey, reason: sentence })),
    OperatorGranted: v1(byOperator),
    OperatorRevoked: v1(byOperator),
    /** All credentials of the account become invalid. This e-mail address and these nodes become free for other accounts. */
    AccountDeleted: v1(z.strictObject({ emailHash: keyHash, nodes: z.array(pubkey) })),
  },
  commands: {
    CreateAccount: v1(
      z.strictObject({
        emailHash: keyHash,
        emailRecord: uuid,
        passwordRecord: uuid,
        tokenHash: keyHash,
        tokenExpiresAt: instant,
      }),
    ),
    OpenSession: v1(z.strictObject({ keyHash, orderId: uuid.nullable() })),
    IssueOrderKey: v1(z.strictObject({ keyHash, orderId: uuid })),
    /** Sent after the gateway compared the password with the record; `passwordRecord` is null from an older gateway. */
    RecordLogin: {
      ...v2(
        z.strictObject({ tokenHash: keyHash, expiresAt: instant, passwordRecord: uuid.nullable() }),
        (old: { readonly tokenHash: string; readonly expiresAt: number }) => ({ ...old, passwordRecord: null }),
      ),
      from: ['gateway'],
    },
    /** Sent after the gateway compared the old password with the record `replaces`. */
    ChangePassword: { ...v1(z.strictObject({ passwordRecord: uuid, replaces: uuid, apiKeys: z.boolean() })), from: ['gateway'] },
    LogOutEverywhere: { ...v1(z.strictObject({ apiKeys: z.boolean() })), from: ['gateway'] },
    /** The gateway seals `challenge` instead of storing it, so that callers without a log-in write to no stream. */
    LoginByNode: {
      ...v1(
        z.strictObject({
          pubkey,
          challenge,
          challengeExpiresAt: instant,
          signature: z.string().max(256),
          tokenHash: keyHash,
          expiresAt: instant,
        }),
      ),
      from: ['gateway'],
    },
    LogOut: { ...v1(z.strictObject({ tokenHash: keyHash })), from: ['gateway'] },
    CreateApiKey: { ...v1(apiKey), from: ['gateway'] },
    RevokeApiKey: { ...v1(z.strictObject({ keyId: uuid })), from: ['gateway'] },
    ChallengeNode: { ...v1(z.strictObject({ pubkey, challenge })), from: ['gateway'] },
    ConnectNode: { ...v1(z.strictObject({ pubkey, challenge, signature: z.string().max(256) })), from: ['gateway'] },
    RecordNodeClaim: v1(z.strictObject({ pubkey, granted: z.boolean() })),
    GrantOperator: v1(byOperator),
    RevokeOperator: v1(byOperator),
    /** Sent after the gateway compared the password with the record, and found no open order and no open payout. */
    DeleteAccount: { ...v1(z.strictObject({ emailHash: keyHash, passwordRecord: uuid })), from: ['gateway'] },
  },
  records: {
    CreateAccount: ['AccountCreated', 'LoginRecorded'],
    OpenSession: ['SessionOpened'],
    IssueOrderKey: ['OrderKeyIssued'],
    RecordLogin: ['LoginRecorded'],
    ChangePassword: ['PasswordChanged', 'LoggedOutEverywhere'],
    LogOutEverywhere: ['LoggedOutEverywhere'],
    LoginByNode: ['LoginChallengeUsed', 'LoginRecorded'],
    LogOut: ['LoggedOut'],
    CreateApiKey: ['ApiKeyCreated'],
    RevokeApiKey: ['ApiKeyRevoked'],
    ChallengeNode: ['NodeChallenged'],
    ConnectNode: ['NodeProofGiven'],
    RecordNodeClaim: ['NodeConnected', 'NodeRefused'],
    GrantOperator: ['OperatorGranted'],
    RevokeOperator: ['OperatorRevoked'],
    DeleteAccount: ['AccountDeleted'],
  },
})
export type AccountFact = FactsOf<typeof accountContract>
export type AccountCommand = CommandsOf<typeof accountContract>
export type AccountTarget = TargetOf<typeof accountContract>

/** An e-mail address has one account at a time, until the account's deletion. The stream's id is the hash of the address. */
export const emailClaimContract = defineContract('email', 'accounts', {
  facts: {
    EmailClaimed: v1(
      z.strictObject({ accountId: uuid, emailRecord: uuid, passwordRecord: uuid, tokenHash: keyHash, tokenExpiresAt: instant }),
    ),
    EmailReleased: v1(z.strictObject({ accountId: uuid })),
  },
  commands: {
    ClaimEmail: {
      ...v1(
        z.strictObject({ accountId: uuid, emailRecord: uuid, passwordRecord: uuid, tokenHash: keyHash, tokenExpiresAt: instant }),
      ),
      from: ['gateway'],
    },
    ReleaseEmail: { ...v1(z.strictObject({ accountId: uuid })), from: ['gateway'] },
  },
  records: {
    ClaimEmail: ['EmailClaimed'],
    ReleaseEmail: ['EmailReleased'],
  },
})
export type EmailClaimFact = FactsOf<typeof emailClaimContract>
export type EmailClaimCommand = CommandsOf<typeof emailClaimContract>
export type EmailClaimTarget = TargetOf<typeof emailClaimContract>

/** A node has one account at a time, until the account's deletion. The stream's id is the node's key. */
export const nodeClaimContract = defineContract('nodeclaim', 'accounts', {
  facts: {
    NodeClaimed: v1(z.strictObject({ accountId: uuid })),
    NodeClaimRefused: v1(z.strictObject({ accountId: uuid })),
    NodeReleased: v1(z.strictObject({ accountId: uuid })),
  },
  commands: { ClaimNode: v1(z.strictObject({ accountId: uuid })), ReleaseNode: v1(z.strictObject({ accountId: uuid })) },
  records: {
    ClaimNode: ['NodeClaimed', 'NodeClaimRefused'],
    ReleaseNode: ['NodeReleased'],
  },
})
export type NodeClaimFact = FactsOf<typeof nodeClaimContract>
export type NodeClaimCommand = CommandsOf<typeof nodeClaimContract>
export type NodeClaimTarget = TargetOf<typeof nodeClaimContract>
