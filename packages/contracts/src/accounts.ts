import { z } from 'zod'
import { contract, v1, v2, type CommandsOf, type FactsOf } from './define.ts'
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

/** Who may call: an anonymous buyer with a session key, or somebody with an e-mail address, keys and nodes. */
export const account = contract('account', 'accounts', {
  facts: {
    /** `emailRecord` and `passwordRecord` name rows outside the streams that can be deleted. */
    AccountCreated: v1(z.strictObject({ emailHash: keyHash, emailRecord: uuid, passwordRecord: uuid })),
    /** An anonymous identity, opened by a purchase. */
    SessionOpened: v1(z.strictObject({ keyHash, orderId: uuid.nullable() })),
    /** A key that comes with one order of a caller that has an API key, and reads that order only. */
    OrderKeyIssued: v1(z.strictObject({ keyHash, orderId: uuid })),
    LoginRecorded: v1(z.strictObject({ tokenHash: keyHash, expiresAt: instant })),
    /** A node's key opened a log-in with this challenge, which nobody can use again. */
    LoginChallengeUsed: v1(z.strictObject({ pubkey, challenge })),
    LoggedOut: v1(z.strictObject({ tokenHash: keyHash })),
    PasswordChanged: v1(z.strictObject({ passwordRecord: uuid })),
    /** Every token of before opens nothing any more; where it says so, no API key does either. */
    LoggedOutEverywhere: v1(z.strictObject({ apiKeys: z.boolean() })),
    ApiKeyCreated: v1(apiKey),
    ApiKeyRevoked: v1(z.strictObject({ keyId: uuid })),
    NodeChallenged: v1(z.strictObject({ pubkey, challenge, expiresAt: instant })),
    NodeProofGiven: v1(z.strictObject({ pubkey, challenge })),
    NodeConnected: v1(z.strictObject({ pubkey })),
    NodeRefused: v1(z.strictObject({ pubkey, reason: sentence })),
    OperatorGranted: v1(byOperator),
    OperatorRevoked: v1(byOperator),
    /** Nothing opens the account any more; its address and its nodes, which are named here, are free for others. */
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
    /** After the gateway compared the password with this record; null where an older gateway did not say which. */
    RecordLogin: v2(
      z.strictObject({ tokenHash: keyHash, expiresAt: instant, passwordRecord: uuid.nullable() }),
      (old: { readonly tokenHash: string; readonly expiresAt: number }) => ({ ...old, passwordRecord: null }),
    ),
    /** After the gateway compared the old password with the record `replaces`. */
    ChangePassword: v1(z.strictObject({ passwordRecord: uuid, replaces: uuid, apiKeys: z.boolean() })),
    LogOutEverywhere: v1(z.strictObject({ apiKeys: z.boolean() })),
    /** `challenge` carries the gateway's own seal and `challengeExpiresAt`: nobody who is not logged in writes to a stream. */
    LoginByNode: v1(
      z.strictObject({
        pubkey,
        challenge,
        challengeExpiresAt: instant,
        signature: z.string().max(256),
        tokenHash: keyHash,
        expiresAt: instant,
      }),
    ),
    LogOut: v1(z.strictObject({ tokenHash: keyHash })),
    CreateApiKey: v1(apiKey),
    RevokeApiKey: v1(z.strictObject({ keyId: uuid })),
    ChallengeNode: v1(z.strictObject({ pubkey, challenge })),
    ConnectNode: v1(z.strictObject({ pubkey, challenge, signature: z.string().max(256) })),
    RecordNodeClaim: v1(z.strictObject({ pubkey, granted: z.boolean() })),
    GrantOperator: v1(byOperator),
    RevokeOperator: v1(byOperator),
    /** After the gateway compared the password with this record, and saw no open order and no open payout. */
    DeleteAccount: v1(z.strictObject({ emailHash: keyHash, passwordRecord: uuid })),
  },
  fromOthers: [
    'RecordLogin',
    'ChangePassword',
    'LogOutEverywhere',
    'LoginByNode',
    'LogOut',
    'CreateApiKey',
    'RevokeApiKey',
    'ChallengeNode',
    'ConnectNode',
    'DeleteAccount',
  ],
})
export type AccountFact = FactsOf<typeof account>
export type AccountCommand = CommandsOf<typeof account>

/** One account an e-mail address, until that account is deleted. The stream's id is the hash of the address. */
export const emailClaim = contract('email', 'accounts', {
  facts: {
    EmailClaimed: v1(
      z.strictObject({ accountId: uuid, emailRecord: uuid, passwordRecord: uuid, tokenHash: keyHash, tokenExpiresAt: instant }),
    ),
    EmailReleased: v1(z.strictObject({ accountId: uuid })),
  },
  commands: {
    ClaimEmail: v1(
      z.strictObject({ accountId: uuid, emailRecord: uuid, passwordRecord: uuid, tokenHash: keyHash, tokenExpiresAt: instant }),
    ),
    ReleaseEmail: v1(z.strictObject({ accountId: uuid })),
  },
  fromOthers: ['ClaimEmail', 'ReleaseEmail'],
})
export type EmailClaimFact = FactsOf<typeof emailClaim>
export type EmailClaimCommand = CommandsOf<typeof emailClaim>

/** One account a node, until that account is deleted. The stream's id is the node's key. */
export const nodeClaim = contract('nodeclaim', 'accounts', {
  facts: {
    NodeClaimed: v1(z.strictObject({ accountId: uuid })),
    NodeClaimRefused: v1(z.strictObject({ accountId: uuid })),
    NodeReleased: v1(z.strictObject({ accountId: uuid })),
  },
  commands: { ClaimNode: v1(z.strictObject({ accountId: uuid })), ReleaseNode: v1(z.strictObject({ accountId: uuid })) },
  fromOthers: [],
})
export type NodeClaimFact = FactsOf<typeof nodeClaim>
export type NodeClaimCommand = CommandsOf<typeof nodeClaim>
