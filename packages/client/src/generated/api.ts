// From the schema: npm run generate

import type { CallOptions, PagedOperation } from '../operation.ts'

export type ApiOperations = {
  readonly market: {
    readonly liquidity: {
      /** The capacity that one dollar buys now from the best offers. Needs no credential. */
      readonly liquidityPerUsd: (options?: CallOptions) => Promise<LiquidityPerUsd>
    }
    readonly offer: {
      /** The offers of all sellers, oldest first. */
      readonly offers: PagedOperation<[args?: { readonly page?: PageInput | null | undefined; readonly filter?: OfferFilterInput | null | undefined }, options?: CallOptions], MarketOffers>
      readonly offer: (args: { readonly offer_id: string }, options?: CallOptions) => Promise<MarketOffer>
      readonly create: (input: CreateOfferInput, options?: CallOptions) => Promise<OfferResult>
      readonly update: (input: UpdateOfferInput, options?: CallOptions) => Promise<OfferResult>
      /** Disables an enabled offer, or enables a disabled offer. */
      readonly toggle: (input: ToggleOfferInput, options?: CallOptions) => Promise<OfferResult>
      /** The heartbeat of a seller's agent, with a proof of its node's funds. Send it every 10 s. A seller without a heartbeat for 30 s gets only orders of buyers that chose its offer. */
      readonly attest: (input: AttestInput, options?: CallOptions) => Promise<Success>
    }
    readonly order: {
      /** Places an order on an offer that the buyer chose. Without `auto_accept`, the seller has to accept the order first. */
      readonly create: (input: CreateManualOrderInput, options?: CallOptions) => Promise<MarketOrder>
      /** For the buyer: cancels an unpaid order. For a seller: ends its attempt. */
      readonly cancel: (input: CancelOrderInput, options?: CallOptions) => Promise<Success>
      /** For the buyer: gives an invoice for the amount in `refund` of the order. */
      readonly refund: (input: RefundOrderInput, options?: CallOptions) => Promise<Success>
      readonly seller: {
        /** Accepts the order, or submits the invoice that pays the seller. Until the payout is paid, a seller can submit another invoice. */
        readonly accept: (input: SellerAcceptOrdersInput, options?: CallOptions) => Promise<Success>
        readonly reject: (input: SellerRejectOrdersInput, options?: CallOptions) => Promise<Success>
        /** Submits the funding outpoint. Publish the transaction only after this call has succeeded, and at most at height `broadcast_until_height`. */
        readonly addTransaction: (input: SellerAddTransactionInput, options?: CallOptions) => Promise<AddedTransaction>
      }
    }
  }
  readonly user: {
    readonly market: {
      readonly orders: {
        readonly getOrder: (args: { readonly order_id: string }, options?: CallOptions) => Promise<MarketOrder>
        /** The orders of this account as a buyer. */
        readonly purchases: PagedOperation<[args?: { readonly page?: PageInput | null | undefined; readonly input?: OrderInput | null | undefined }, options?: CallOptions], MarketOrders>
        /** The orders of this account as a seller. */
        readonly sales: PagedOperation<[args?: { readonly page?: PageInput | null | undefined; readonly input?: OrderInput | null | undefined }, options?: CallOptions], MarketOrders>
      }
      readonly offers: {
        /** All offers of this account, of every status, oldest first. */
        readonly offers: PagedOperation<[args?: { readonly page?: PageInput | null | undefined; readonly filter?: OfferFilterInput | null | undefined }, options?: CallOptions], MarketOffers>
        readonly getOffer: (args: { readonly offer_id: string }, options?: CallOptions) => Promise<MarketOffer>
      }
    }
    readonly transactions: {
      /** The caller's purchases, newest first. */
      readonly transactionList: PagedOperation<[args?: { readonly page?: PageInput | null | undefined }, options?: CallOptions], MarketTransactionList>
    }
  }
  readonly account: {
    readonly me: (options?: CallOptions) => Promise<Account>
    /** Log-ins with a valid dashboard token, newest first; at most 100. */
    readonly sessions: (options?: CallOptions) => Promise<readonly AccountSession[]>
    readonly apiKeys: PagedOperation<[args?: { readonly page?: PageInput | null | undefined }, options?: CallOptions], ApiKeys>
    readonly create: (input: CreateAccountInput, options?: CallOptions) => Promise<AccountToken>
    /** Logs in with e-mail address and password, or with a node's signature over a challenge of login_challenge. */
    readonly login: (input: LoginInput, options?: CallOptions) => Promise<AccountToken>
    readonly loginChallenge: (args: { readonly pubkey: string }, options?: CallOptions) => Promise<string>
    readonly logout: (options?: CallOptions) => Promise<Success>
    /** Ends every dashboard token of the account, including the caller's. Then log in with the new password. */
    readonly changePassword: (input: ChangePasswordInput, options?: CallOptions) => Promise<Success>
    /** Ends every dashboard token of the account, including the caller's. */
    readonly logOutEverywhere: (args?: { readonly end_api_keys?: boolean | null | undefined }, options?: CallOptions) => Promise<Success>
    /** Deletes the account's texts, and ends its tokens and keys. Refused while the account has an open order or payout. */
    readonly delete: (input: DeleteAccountInput, options?: CallOptions) => Promise<Success>
    readonly createApiKey: (input: CreateApiKeyInput, options?: CallOptions) => Promise<CreatedApiKey>
    readonly revokeApiKey: (args: { readonly id: string }, options?: CallOptions) => Promise<RevokedApiKey>
    readonly node: {
      /** Returns a text that the node has to sign within 10 minutes. */
      readonly challenge: (args: { readonly pubkey: string }, options?: CallOptions) => Promise<string>
      /** Connects a node to the account. The signature, lnd's signmessage over the challenge, proves that the account holds the node's key. */
      readonly connect: (input: ConnectNodeInput, options?: CallOptions) => Promise<Success>
    }
  }
  readonly payment: {
    readonly environment: {
      readonly findOne: (args: { readonly id: string }, options?: CallOptions) => Promise<PaymentsEnvironment>
      /** The team's environments, newest first. A service API key sees its own environment and those that it created. */
      readonly findMany: PagedOperation<[input?: FindManyEnvironmentsInput, options?: CallOptions], FindManyEnvironments>
      /** A sandbox begins with a BTC wallet. */
      readonly create: (input: CreatePaymentsEnvironmentInput, options?: CallOptions) => Promise<PaymentsEnvironment>
      /** Deletes the environment with its wallets, transactions and keys. */
      readonly delete: (args: { readonly id: string }, options?: CallOptions) => Promise<boolean>
    }
    readonly wallet: {
      readonly findOne: (args: { readonly id: string }, options?: CallOptions) => Promise<PaymentsWallet>
      /** The wallets of one environment, or all wallets that the caller sees, newest first. */
      readonly findMany: PagedOperation<[input?: FindManyWalletsInput, options?: CallOptions], FindManyWallets>
      readonly create: (input: CreatePaymentsWalletInput, options?: CallOptions) => Promise<PaymentsWallet>
      /** Deletes the wallet with its transactions. */
      readonly delete: (args: { readonly id: string }, options?: CallOptions) => Promise<boolean>
    }
    readonly transaction: {
      /**
       * Finds a transaction by exactly one of its id and its payment hash. If several transactions have the hash, a send comes first,
       * then the newest.
       */
      readonly findOne: (args?: { readonly id?: string | null | undefined; readonly lightning?: FindTransactionByLightningInput | null | undefined }, options?: CallOptions) => Promise<PaymentsTransaction>
      /** Newest first. */
      readonly findMany: PagedOperation<[input: ListTransactionsInput, options?: CallOptions], FindManyTransactions>
      /** Makes a BOLT11 invoice. A repeated call with the same wallet and idempotency key gives the first invoice. */
      readonly createReceive: (input: CreateReceiveTransactionInput, options?: CallOptions) => Promise<PaymentsTransaction>
      /** Records a payment to an invoice or a Lightning address. A sandbox pays nothing. */
      readonly createSend: (input: CreateSendTransactionInput, options?: CallOptions) => Promise<PaymentsTransaction>
    }
    readonly webhookEndpoint: {
      readonly findOne: (args: { readonly id: string }, options?: CallOptions) => Promise<WebhookEndpoint>
      /** Newest first; of one environment, or of all that the caller sees. */
      readonly findMany: PagedOperation<[input?: FindManyWebhookEndpointsInput, options?: CallOptions], FindManyWebhookEndpoints>
      /** The names that event_filters takes. */
      readonly availableEventTypes: (options?: CallOptions) => Promise<readonly string[]>
      readonly create: (input: CreateWebhookEndpointInput, options?: CallOptions) => Promise<CreateWebhookEndpointResult>
      /** A field that is left out stays as it is. */
      readonly update: (input: UpdateWebhookEndpointInput, options?: CallOptions) => Promise<WebhookEndpoint>
      /** The secret before it stays valid for 24 hours. */
      readonly rotateSecret: (args: { readonly id: string }, options?: CallOptions) => Promise<CreateWebhookEndpointResult>
      /** Ends the deliveries of the endpoint too. */
      readonly delete: (args: { readonly id: string }, options?: CallOptions) => Promise<boolean>
      /** Sends one webhook.test, once. */
      readonly test: (args: { readonly id: string }, options?: CallOptions) => Promise<WebhookDelivery>
    }
    readonly webhookEvent: {
      /** By the id of the event, or by the id in its body. */
      readonly findOne: (args: { readonly id: string }, options?: CallOptions) => Promise<WebhookEvent>
      /** Newest first. A key that is bound to a wallet sees the events of this wallet. */
      readonly findMany: PagedOperation<[input: ListWebhookEventsInput, options?: CallOptions], FindManyWebhookEvents>
      /** Sends the event once more, also after a success. Refused after the deletion of its texts. */
      readonly redeliver: (args: { readonly id: string; readonly endpoint_id: string }, options?: CallOptions) => Promise<WebhookDelivery>
    }
  }
  readonly public: {
    readonly assets: {
      /** The assets that a wallet can hold. No credential is needed. */
      readonly supported: PagedOperation<[input?: SupportedAssetsInput, options?: CallOptions], SupportedAssetList>
    }
  }
  readonly taprootAssets: {
    /** The assets that a wallet can hold, also BTC. */
    readonly list: (options?: CallOptions) => Promise<readonly AvailableTaprootAsset[]>
  }
  readonly serviceApiKeys: {
    /** All keys of the environment, newest first, also those that were revoked. */
    readonly getMany: (args: { readonly environment_id: string }, options?: CallOptions) => Promise<readonly ServiceApiKey[]>
  }
  readonly liquidity: {
    /** Places an order. The call is not idempotent: after a timeout, read transaction_list before you call again. */
    readonly buy: (input: LiquidityOrderInput, options?: CallOptions) => Promise<LiquidityOrderResult>
  }
  readonly serviceApiKey: {
    readonly create: (input: CreateServiceApiKeyInput, options?: CallOptions) => Promise<CreateServiceApiKeyResult>
    /** Changes the name. */
    readonly update: (args: { readonly id: string; readonly input: UpdateServiceApiKeyInput }, options?: CallOptions) => Promise<ServiceApiKey>
    /** Ends the key: its next call is refused. */
    readonly revoke: (args: { readonly id: string }, options?: CallOptions) => Promise<ServiceApiKey>
  }
}

export type LiquidityPerUsd = {
  readonly id: string
  /** Inbound capacity, in sats, for one dollar. */
  readonly sats: string
  /** The same capacity, in dollars. */
  readonly usd: string
}

/** Default: the first 10 entries. `limit` is at most 100. */
export type PageInput = {
  readonly limit?: number | null | undefined
  readonly offset?: number | null | undefined
}

export type OfferFilterInput = {
  /** Only offers of this node. */
  readonly pubkey?: string | null | undefined
  readonly status?: OfferStatus | null | undefined
  /** Only offers that sell a channel of this size, in sats. */
  readonly size?: string | number | null | undefined
}

export type OfferStatus = 'ENABLED' | 'DISABLED' | 'ADMIN_DISABLED'

export type MarketOffers = {
  readonly id: string
  readonly total: number
  readonly total_count: number
  readonly pagination: Pagination
  readonly list: readonly SimpleMarketOffer[]
}

export type Pagination = {
  readonly id: string
  readonly limit: number
  readonly offset: number
}

export type SimpleMarketOffer = {
  readonly id: string
  readonly status: OfferStatus
  readonly pubkey: string
  readonly total_size: string
  /** Sold and reserved capacity. */
  readonly locked_size: string
  readonly available_size: string
  readonly min_size: string
  readonly max_size: string
  /** The channel lease: the minimum number of blocks for which a channel stays open. */
  readonly min_block_length: number
  /** The seller's fee, in parts per million of the size. */
  readonly fee_rate: number
  /** The seller's base fee, in sats, in addition to the fee rate. */
  readonly base_fee: string
  /** The maximum routing fee rate of the channel, in parts per million. */
  readonly fee_rate_cap: number
  readonly base_fee_cap: string
  readonly onchain_priority: OnchainPriority
  readonly onchain_multiplier: number
  readonly asset_id: string | null
  /** Standing acceptance: the offer accepts orders without asking the seller. */
  readonly auto_accept: boolean
  readonly seller: OfferSeller
  /** The seller's node. */
  readonly node: Node
  readonly asset: OrderAsset
  /** Number of channels sold from this offer. */
  readonly filled_orders: number
  /** Whether the caller owns the offer. */
  readonly is_owner: boolean
  readonly created_at: string
}

export type OnchainPriority = 'LOW' | 'MEDIUM' | 'HIGH'

export type OfferSeller = {
  /** The node's public key. */
  readonly id: string
  /** Whether the seller's agent sent a recent attestation of its funds. */
  readonly live: boolean
  /** Whether the seller belongs to the rails cluster. */
  readonly rails: boolean
  /** From 0 to 1, computed from the outcomes of the seller's orders. */
  readonly score: number
  /** The outcomes from which the score is computed. */
  readonly outcomes: readonly SellerOutcome[]
}

export type SellerOutcome = {
  readonly id: string
  readonly outcome: string
  readonly count: number
}

export type Node = {
  readonly id: string
  readonly pubkey: string
  /** The name that the node gives itself. Null if it is unknown. */
  readonly alias: string | null
  /** Addresses of the node, each as host:port. */
  readonly sockets: readonly string[]
}

export type OrderAsset = {
  readonly id: string
  readonly symbol: string
}

export type MarketOffer = {
  readonly id: string
  readonly status: OfferStatus
  readonly pubkey: string
  readonly total_size: string
  readonly locked_size: string
  readonly available_size: string
  readonly min_size: string
  readonly max_size: string
  readonly min_block_length: number
  readonly fee_rate: number
  readonly base_fee: string
  readonly fee_rate_cap: number
  readonly base_fee_cap: string
  readonly onchain_priority: OnchainPriority
  readonly onchain_multiplier: number
  readonly conditions: readonly OfferCondition[]
  readonly asset_id: string | null
  readonly auto_accept: boolean
  readonly seller: OfferSeller
  /** The seller's node. */
  readonly node: Node
  readonly total_amount: SizeAmount
  readonly locked_amount: SizeAmount
  readonly min_amount: SizeAmount
  readonly max_amount: SizeAmount
  readonly fees: OfferFees
  readonly promises: OfferPromises
  readonly asset: OrderAsset
  /** Number of channels sold from this offer. */
  readonly filled_orders: number
  /** Whether the caller owns the offer. */
  readonly is_owner: boolean
  readonly created_at: string
  readonly updated_at: string
}

export type OfferCondition = {
  readonly id: string
  readonly condition: OfferConditionType
  readonly operator: OfferConditionOperator
  readonly value: string
}

export type OfferConditionType = 'NODE_CAPACITY' | 'NODE_CHANNELS' | 'NODE_SOCKETS' | 'PARALLEL_CHANNELS'

export type OfferConditionOperator = 'EQUAL' | 'NOT_EQUAL' | 'GREATER_THAN' | 'GREATER_THAN_OR_EQUAL_TO' | 'LESS_THAN' | 'LESS_THAN_OR_EQUAL_TO'

export type SizeAmount = {
  readonly id: string
  readonly satoshi: Sats | null
}

export type Sats = {
  readonly id: string
  readonly sats: string | null
}

export type OfferFees = {
  readonly id: string
  /** The base fee. */
  readonly fixed: Sats
  /** The fee rate: sats per million of the size. */
  readonly variable: Sats
  /** The platform fee: sats per million of the size. */
  readonly amboss: Sats
}

/** The promises that new orders take over. In an order, their names start with `locked_`. */
export type OfferPromises = {
  readonly id: string
  readonly min_block_length: number
  readonly fee_rate_cap: number
  readonly base_fee_cap: string
}

export type MarketOrder = {
  readonly id: string
  readonly transaction_id: string
  readonly status: OrderStatus
  readonly payment_status: OrderPaymentStatus | null
  readonly created_at: string
  /** The deadline of the current status. Null without one. */
  readonly timeout: string | null
  readonly channel_id: string | null
  /** The funding outpoint, as <txid>:<vout>. */
  readonly outpoint: string | null
  readonly size: string
  /** The capacity of the channel, as in `size`. The price is in `fees`. */
  readonly amount: SizeAmount
  readonly asset: OrderAsset
  /** The seller's node. */
  readonly source: Node
  /** The buyer's node. */
  readonly destination: Node
  readonly fees: OrderFees
  readonly options: OrderOptions
  readonly confirmations: OrderConfirmations
  /** The remaining number of blocks for which the channel has to stay open. */
  readonly blocks_until_can_be_closed: number | null
  readonly payment: OrderPayment
  readonly promises: OrderPromises
  readonly payout: OrderPayout | null
  /** For the buyer: an amount that is owed to it, because the seller is not paid. Null if nothing is owed, and while it is being paid. */
  readonly refund: OrderRefund | null
  readonly is_seller: boolean
  readonly action_needed: boolean
  /** The reason while the payment is being returned. Do not publish a transaction for the order then. The field becomes null if the payment is settled after all. */
  readonly closing: string | null
  /** For the seller, after it submitted an outpoint: the last block height at which it may publish the transaction. */
  readonly broadcast_until_height: number | null
  /** The reason why the order ended. */
  readonly reason: string | null
  readonly timeline: readonly OrderStep[]
  /** The offer from which the channel is sold, in its current state. */
  readonly simple_offer: SimpleMarketOffer | null
}

export type OrderStatus = 'WAITING_FOR_SELLER_APPROVAL' | 'WAITING_FOR_BUYER_PAYMENT' | 'WAITING_FOR_CHANNEL_OPEN' | 'SELLER_SENT_TRANSACTION' | 'WAITING_FOR_ON_CHAIN_CONFIRMATION' | 'ON_CHAIN_CONFIRMATION' | 'SELLER_OPENED_CHANNEL' | 'VALID_CHANNEL_OPENING' | 'CHANNEL_MONITORING_FINISHED' | 'SELLER_REJECTED' | 'SELLER_FAILED_TO_REACT' | 'BUYER_REJECTED' | 'BUYER_FAILED_TO_PAY' | 'SELLER_FAILED_TO_OPEN_CHANNEL' | 'SELLER_FAILED_TO_SEND_SWAP' | 'INVALID_CHANNEL_OPENING' | 'ADMIN_CLOSED'

export type OrderPaymentStatus = 'PENDING_PAYMENT' | 'SUCCESSFUL_PAYMENT' | 'HODL_INVOICE_TIMEOUT' | 'PAYMENT_FAILED' | 'PAYMENT_REJECTED_BY_DESTINATION' | 'INVALID_PAYMENT_SECRET' | 'SELLER_INVOICE_EXPIRED'

export type OrderFees = {
  readonly id: string
  /** The seller's share: the sum of `fixed` and `variable`. */
  readonly seller: Sats
  readonly buyer: BuyerFees
}

export type BuyerFees = {
  readonly id: string
  readonly sats: string
  readonly usd: string | null
}

export type OrderOptions = {
  readonly id: string
  readonly private: boolean
  readonly rails_cluster_only: boolean
  readonly asset_id: string | null
}

export type OrderConfirmations = {
  readonly id: string
  readonly confirmations: number
}

export type OrderPayment = {
  readonly id: string
  /** The hosted checkout page of the invoice. Null for the seller. */
  readonly redirect_url: string | null
  readonly lightning: OrderLightningPayment | null
}

export type OrderLightningPayment = {
  readonly id: string
  /** The hold invoice. Null before it exists, and for the seller. */
  readonly invoice: string | null
  /** Whether the order will still get its invoice. */
  readonly pending: boolean
}

/** The promises of the seller when the order was placed. */
export type OrderPromises = {
  readonly id: string
  readonly locked_fee_rate: number
  readonly locked_base_fee: string
  /** Parts per million. */
  readonly locked_fee_rate_cap: Sats
  readonly locked_base_fee_cap: Sats
  readonly locked_min_block_length: number
  readonly locked_onchain_priority: OnchainPriority
  readonly locked_onchain_multiplier: number
}

export type OrderPayout = {
  readonly id: string
  readonly sats: string
  readonly invoice_status: PayoutInvoiceStatus
  /** Null until the buyer's payment is settled. */
  readonly status: PayoutStatus | null
  /** The reason if the invoice was refused, or if the payout is withheld or failed. */
  readonly reason: string | null
  /** Set if the market cancelled the buyer's payment through its own fault. Keep the channel open while the value is ASKED or BORNE. */
  readonly operator_loss: OperatorLoss | null
}

export type PayoutInvoiceStatus = 'NONE' | 'OFFERED' | 'TAKEN' | 'REFUSED'

export type PayoutStatus = 'OPEN' | 'WITHHELD' | 'REQUESTED' | 'SUCCEEDED' | 'FAILED'

export type OperatorLoss = 'ASKED' | 'BORNE' | 'REFUTED'

/** An amount that is owed to the buyer. It is paid to an invoice by `market.order.refund` or by the page. */
export type OrderRefund = {
  readonly id: string
  /** The amount in millisatoshis. The invoice must be for exactly this amount. */
  readonly msats: string
  /** The page on which the buyer can give the invoice. */
  readonly url: string
  /** The reason if the last invoice was refused. */
  readonly reason: string | null
}

export type OrderStep = {
  readonly id: string
  readonly at: string
  readonly fact: string
  /** The order's new status, if this step changed it. */
  readonly status: OrderStatus | null
  readonly reason: string | null
}

export type OrderInput = {
  /** Only orders with this node. */
  readonly peer_pubkey?: string | null | undefined
  /** true: only orders that need an action of the caller now. false: only the other orders. */
  readonly action_needed?: boolean | null | undefined
}

export type MarketOrders = {
  readonly id: string
  readonly total_count: number
  readonly pagination: Pagination
  readonly list: readonly SimpleMarketOrder[]
}

export type SimpleMarketOrder = {
  readonly id: string
  readonly transaction_id: string
  readonly status: OrderStatus
  readonly payment_status: OrderPaymentStatus | null
  readonly created_at: string
  /** The deadline of the current status. Null without one. */
  readonly timeout: string | null
  readonly size: string
  /** The seller's node. */
  readonly source: Node
  /** The buyer's node. */
  readonly destination: Node
  readonly fees: OrderFees
  readonly options: OrderOptions
  /** The funding outpoint, as <txid>:<vout>. */
  readonly outpoint: string | null
  readonly channel_id: string | null
  /** For the seller: the state of its payout. */
  readonly payout: OrderPayout | null
  readonly is_seller: boolean
  /** Whether the order needs an action of the caller now. */
  readonly action_needed: boolean
}

export type MarketTransactionList = {
  readonly id: string
  readonly total_count: number
  readonly pagination: Pagination
  readonly list: readonly MarketTransaction[]
}

export type MarketTransaction = {
  readonly id: string
  readonly status: OrderStatus
  readonly created_at: string
}

export type Account = {
  readonly id: string
  readonly email: string | null
  readonly created_at: string | null
  readonly nodes: readonly AccountNode[]
}

export type AccountNode = {
  readonly id: string
  readonly pubkey: string
  readonly alias: string | null
}

export type AccountSession = {
  readonly id: string
  /** Null for a log-in from before the market recorded this time. */
  readonly created_at: string | null
  /** Accurate to about a minute. */
  readonly last_used_at: string | null
  /** The network of the address of the last use: the /24 of an IPv4 address, or the /48 of an IPv6 address. */
  readonly ip_prefix: string | null
  /** Whether this session made the request. */
  readonly current: boolean
}

export type ApiKeys = {
  readonly id: string
  readonly total_count: number
  readonly pagination: Pagination
  readonly list: readonly ApiKey[]
}

export type ApiKey = {
  readonly id: string
  readonly name: string | null
  readonly key_prefix: string
  readonly key_suffix: string
  readonly created_at: string
  readonly expires_at: string | null
  readonly active: boolean
}

export type PaymentsEnvironment = {
  readonly id: string
  readonly name: string
  readonly type: PaymentsEnvironmentType
  readonly wallet_count: number
  readonly created_at: string
  readonly updated_at: string
  /** The page on which the activation is paid. Null if no payment is due. */
  readonly checkout_url: string | null
}

/** SANDBOX: transactions without money, for tests. LIVE: not served yet. */
export type PaymentsEnvironmentType = 'SANDBOX' | 'LIVE'

export type FindManyEnvironmentsInput = {
  readonly page?: PageInput | null | undefined
}

export type FindManyEnvironments = {
  readonly id: string
  readonly total_count: number
  readonly pagination: Pagination
  readonly list: readonly SimplePaymentsEnvironment[]
}

export type SimplePaymentsEnvironment = {
  readonly id: string
  readonly name: string
  readonly type: PaymentsEnvironmentType
  readonly wallet_count: number
  readonly created_at: string
  readonly updated_at: string
}

export type PaymentsWallet = {
  readonly id: string
  readonly name: string
  readonly asset_id: string
  readonly asset: BitcoinAsset
  readonly environment_id: string
  readonly environment: PaymentsEnvironment
  readonly team_id: string
  /** Whether the wallet takes payments. A wallet of a sandbox always does. */
  readonly is_ready: boolean
  readonly balance: PaymentsWalletBalance
  readonly created_at: string
  readonly updated_at: string
}

export type BitcoinAsset = {
  readonly id: string
  readonly symbol: string
  /** The number of decimal places between the base unit and the whole unit. */
  readonly precision: number
  readonly type: BitcoinAssetType
  readonly description: string | null
  readonly website_url: string | null
  /** Null for BTC. */
  readonly taproot_asset_details: TaprootAssetDetails | null
  readonly prices: BitcoinAssetPrices
}

export type BitcoinAssetType = 'BASE_ASSET' | 'TAPROOT_ASSET'

export type TaprootAssetDetails = {
  readonly id: string
  readonly asset_id: string | null
  readonly group_key: string | null
  /** The host of the universe server. */
  readonly universe: string | null
}

export type BitcoinAssetPrices = {
  readonly id: string
  /** Dollars for a whole unit. Null if no fresh rate is known. */
  readonly usd: string | null
}

/** Base units of the wallet's asset, summed over its completed transactions. */
export type PaymentsWalletBalance = {
  readonly id: string
  /** The received amount without the sent amount and the fees. It may be negative. */
  readonly balance: string
  readonly received: string
  readonly sent: string
}

export type FindManyWalletsInput = {
  readonly environment_id?: string | null | undefined
  readonly page?: PageInput | null | undefined
}

export type FindManyWallets = {
  readonly id: string
  /** The number of wallets that the input selects. */
  readonly total_count: number
  readonly pagination: Pagination
  /** `environment_id` replaces the environment of the input. */
  readonly list: readonly SimplePaymentsWallet[]
}

export type SimplePaymentsWallet = {
  readonly id: string
  readonly name: string
  readonly asset_id: string
  readonly asset: BitcoinAsset
  readonly environment_id: string
  /** Whether the wallet takes payments. A wallet of a sandbox always does. */
  readonly is_ready: boolean
  readonly created_at: string
  readonly updated_at: string
}

export type FindTransactionByLightningInput = {
  /** 64 hex digits. */
  readonly payment_hash: string
}

export type PaymentsTransaction = {
  readonly id: string
  readonly wallet_id: string
  /** Null in a sandbox. */
  readonly node_id: string | null
  /** The caller's key, or a key that the service chose. */
  readonly idempotency_key: string
  readonly direction: PaymentsTransactionDirection
  readonly status: PaymentsTransactionStatus
  /** The requested amount. */
  readonly amount: BitcoinAssetAmount
  /** The requested amount in satoshis. */
  readonly amount_sats: string | null
  readonly asset: BitcoinAsset
  /** The amount that arrived or was paid. Null unless the status is COMPLETED. */
  readonly settle_amount: BitcoinAssetAmount | null
  readonly settled_at: string | null
  /** Satoshis for a whole unit of the asset at the settlement. Null for BTC. */
  readonly exchange_rate: string | null
  /** Satoshis, rounded up. Null if no fee is known. */
  readonly fee: string | null
  /** The BOLT11 invoice. */
  readonly payment_request: string | null
  readonly payment_hash: string | null
  /** The proof of a completed payment of a live wallet. Null in a sandbox. */
  readonly preimage: string | null
  readonly description: string | null
  readonly metadata: string | null
  /** The reason why the transaction failed. Null for every other status. */
  readonly error: string | null
  readonly expires_at: string | null
  /** The history of the transaction, oldest entry first. */
  readonly events: readonly PaymentsTransactionEvent[]
  readonly created_at: string
  readonly updated_at: string
}

export type PaymentsTransactionDirection = 'RECEIVE' | 'SEND'

export type PaymentsTransactionStatus = 'PENDING' | 'COMPLETED' | 'FAILED' | 'EXPIRED'

export type BitcoinAssetAmount = {
  readonly id: string
  /** The number of base units. */
  readonly full_amount: string
  /** The amount in whole units, with all decimal places of the asset. */
  readonly display_amount: string
  readonly value: BitcoinAssetValue
}

export type BitcoinAssetValue = {
  readonly id: string
  /** Dollars with two decimal places, at the rate of that time. Null if no fresh rate was known. */
  readonly usd_value: string | null
}

export type PaymentsTransactionEvent = {
  readonly id: string
  /** payment.pending, payment.completed, payment.failed or payment.expired. */
  readonly event_type: string
  readonly message: string | null
  /** A JSON object as text. */
  readonly details: string | null
  readonly created_at: string
}

/** Exactly one of wallet_id and environment_id. */
export type ListTransactionsInput = {
  readonly wallet_id?: string | null | undefined
  readonly environment_id?: string | null | undefined
  readonly filter?: ListTransactionsFilterInput | null | undefined
  readonly page?: PageInput | null | undefined
}

export type ListTransactionsFilterInput = {
  readonly direction?: PaymentsTransactionDirection | null | undefined
  readonly status?: PaymentsTransactionStatus | null | undefined
  /** Selects transactions by the time of their creation. */
  readonly date_range?: DateRangeInput | null | undefined
}

export type DateRangeInput = {
  /** The first instant of the range. */
  readonly from?: string | null | undefined
  /** The first instant after the range. */
  readonly to?: string | null | undefined
}

export type FindManyTransactions = {
  readonly id: string
  readonly total_count: number
  readonly pagination: Pagination
  readonly list: readonly SimplePaymentsTransaction[]
}

export type SimplePaymentsTransaction = {
  readonly id: string
  readonly wallet_id: string
  readonly direction: PaymentsTransactionDirection
  readonly status: PaymentsTransactionStatus
  readonly amount: BitcoinAssetAmount
  readonly asset: BitcoinAsset
  /** Satoshis, rounded up. Null if no fee is known. */
  readonly fee: string | null
  readonly description: string | null
  readonly metadata: string | null
  readonly settled_at: string | null
  readonly created_at: string
  readonly updated_at: string
}

export type WebhookEndpoint = {
  readonly id: string
  readonly environment_id: string
  readonly url: string
  /** Empty: all events. */
  readonly event_filters: readonly string[]
  readonly active: boolean
  readonly created_at: string
  readonly updated_at: string
  /** The time at which the service switched the endpoint off by itself; else null. */
  readonly deactivated_at: string | null
  /** The reason why the service switched the endpoint off; else null. */
  readonly deactivation_reason: string | null
  /** The time until which the secret before the newest one is valid too; null if no secret was rotated. */
  readonly previous_secret_valid_until: string | null
}

export type FindManyWebhookEndpointsInput = {
  readonly environment_id?: string | null | undefined
  readonly page?: PageInput | null | undefined
}

export type FindManyWebhookEndpoints = {
  readonly id: string
  readonly total_count: number
  readonly pagination: Pagination
  /** environment_id has the same meaning as in the input. */
  readonly list: readonly SimpleWebhookEndpoint[]
}

export type SimpleWebhookEndpoint = {
  readonly id: string
  readonly environment_id: string
  readonly url: string
  /** Empty: all events. */
  readonly event_filters: readonly string[]
  readonly active: boolean
  readonly created_at: string
  readonly updated_at: string
}

export type WebhookEvent = {
  readonly id: string
  readonly event_type: string
  readonly environment_id: string
  /** Null for webhook.test. */
  readonly wallet_id: string | null
  /** Null for webhook.test. */
  readonly transaction_id: string | null
  /** The id in the body: <event_type>:<transaction_id>. */
  readonly idempotency_key: string
  /** The body as it is sent; null after its deletion. */
  readonly payload: string | null
  readonly created_at: string
  /** All attempts, oldest first, and the one that is due. */
  readonly deliveries: readonly WebhookDelivery[]
}

/** One attempt. */
export type WebhookDelivery = {
  readonly id: string
  readonly webhook_event_id: string
  readonly webhook_endpoint_id: string
  readonly attempt_number: number
  readonly status: WebhookDeliveryStatus
  readonly http_status: number | null
  readonly error_message: string | null
  /** The time at which a PENDING attempt is due; null while its endpoint is switched off. */
  readonly next_attempt_at: string | null
  readonly created_at: string
  readonly updated_at: string
}

export type WebhookDeliveryStatus = 'PENDING' | 'IN_PROGRESS' | 'SUCCESS' | 'FAILED'

export type ListWebhookEventsInput = {
  readonly environment_id: string
  readonly filter?: ListWebhookEventsFilterInput | null | undefined
  readonly page?: PageInput | null | undefined
}

export type ListWebhookEventsFilterInput = {
  readonly date_range?: DateRangeInput | null | undefined
  /** Events that were delivered to this endpoint, or are to be. */
  readonly endpoint_id?: string | null | undefined
  readonly event_type?: string | null | undefined
  readonly transaction_id?: string | null | undefined
  readonly wallet_id?: string | null | undefined
}

export type FindManyWebhookEvents = {
  readonly id: string
  readonly total_count: number
  readonly pagination: Pagination
  readonly list: readonly SimpleWebhookEvent[]
}

export type SimpleWebhookEvent = {
  readonly id: string
  readonly event_type: string
  /** Null for webhook.test. */
  readonly wallet_id: string | null
  /** Null for webhook.test. */
  readonly transaction_id: string | null
  readonly created_at: string
  /** All attempts, oldest first, and the one that is due. */
  readonly deliveries: readonly WebhookDelivery[]
}

export type SupportedAssetsInput = {
  readonly page?: PageInput | null | undefined
}

export type SupportedAssetList = {
  readonly id: string
  readonly total_count: number
  readonly pagination: Pagination
  readonly list: readonly BitcoinAsset[]
}

export type AvailableTaprootAsset = {
  /** The value for `asset_id`. */
  readonly id: string
  readonly symbol: string
  readonly precision: number
  readonly type: BitcoinAssetType
  readonly group_key: string | null
  /** Null for BTC. */
  readonly universe: string | null
}

export type ServiceApiKey = {
  readonly id: string
  readonly name: string
  /** The first characters of the key. */
  readonly key_prefix: string
  /** The last characters of the key. */
  readonly key_suffix: string
  /** False after the key was revoked or has expired, and after its wallet was deleted. */
  readonly active: boolean
  /** Accurate to about a minute. */
  readonly last_used_at: string | null
  readonly expires_at: string | null
  readonly environment_id: string
  readonly wallet_id: string | null
  /** Null: no key is bound to a node yet. */
  readonly node_id: string | null
  readonly permissions: readonly ServiceApiKeyPermissionEntry[]
  readonly created_at: string
}

export type ServiceApiKeyPermissionEntry = {
  readonly id: string
  readonly resource: ServiceApiKeyPermissionResource
  readonly level: ServiceApiKeyPermissionLevel
}

export type ServiceApiKeyPermissionResource = 'ENVIRONMENTS' | 'WALLETS' | 'WALLET_CREDENTIALS' | 'PAYMENTS' | 'WEBHOOKS'

export type ServiceApiKeyPermissionLevel = 'READ' | 'WRITE'

export type CreateOfferInput = {
  /** A node that is connected to this account. */
  readonly pubkey: string
  readonly total_size: string | number
  readonly min_size: string | number
  readonly max_size: string | number
  readonly min_block_length: string | number
  readonly fee_rate: string | number
  readonly base_fee: string | number
  readonly fee_rate_cap: string | number
  readonly base_fee_cap: string | number
  readonly onchain_priority?: OnchainPriority | null | undefined
  /** From 1 to 5: the buyer pays the estimated funding fee times this number. 0: the seller pays the funding fee. */
  readonly onchain_multiplier?: number | null | undefined
  readonly conditions?: readonly OfferConditionInput[] | null | undefined
  readonly asset_id?: string | null | undefined
  readonly auto_accept?: boolean | null | undefined
}

export type OfferConditionInput = {
  readonly condition: OfferConditionType
  readonly operator: OfferConditionOperator
  readonly value: string | number
}

export type OfferResult = {
  readonly id: string
  readonly offer_id: string
  readonly success: boolean
  /** The offer's status after the change. */
  readonly status: OfferStatus
}

/** Omitted fields stay unchanged. */
export type UpdateOfferInput = {
  readonly offer_id: string
  readonly total_size?: string | number | null | undefined
  readonly min_size?: string | number | null | undefined
  readonly max_size?: string | number | null | undefined
  readonly min_block_length?: string | number | null | undefined
  readonly fee_rate?: string | number | null | undefined
  readonly base_fee?: string | number | null | undefined
  readonly fee_rate_cap?: string | number | null | undefined
  readonly base_fee_cap?: string | number | null | undefined
  readonly onchain_priority?: OnchainPriority | null | undefined
  readonly onchain_multiplier?: number | null | undefined
  readonly conditions?: readonly OfferConditionInput[] | null | undefined
  readonly asset_id?: string | null | undefined
  readonly auto_accept?: boolean | null | undefined
}

export type ToggleOfferInput = {
  readonly offer_id: string
}

export type AttestInput = {
  readonly pubkey: string
  /** The confirmed funds of the node's wallet for channels, in sats. */
  readonly confirmed_sats: string
  /** The time of the signature. */
  readonly at: string
  /** The node's `signmessage` over the text of the attestation. */
  readonly signature: string
}

export type Success = {
  readonly id: string
  readonly success: boolean
}

export type CreateManualOrderInput = {
  readonly offer_id: string
  /** The node that receives the channel. */
  readonly pubkey: string
  readonly size: string | number
  /** Only "SATS". */
  readonly payment_method?: string | null | undefined
  readonly referrer?: string | null | undefined
  readonly options?: ManualOrderOptionsInput | null | undefined
}

export type ManualOrderOptionsInput = {
  readonly asset_id?: string | null | undefined
  readonly private?: boolean | null | undefined
}

export type CancelOrderInput = {
  readonly order_id: string
  readonly cancellation_reason?: OrderCancellationReason | null | undefined
}

export type OrderCancellationReason = 'UNABLE_TO_CONNECT_TO_NODE' | 'UNABLE_TO_PAY' | 'CHANNEL_SIZE_OUT_OF_BOUNDS'

export type RefundOrderInput = {
  readonly order_id: string
  /** A BOLT 11 invoice of any node, for exactly `refund.msats`. */
  readonly invoice: string
  /** The preimage of the order's payment, as 64 hex digits. It proves that the caller paid. */
  readonly preimage: string
}

export type SellerAcceptOrdersInput = {
  readonly order_id: string
  /** A BOLT 11 invoice for exactly the seller's fee. It has to be valid for more than 48 hours. */
  readonly request: string
}

export type SellerRejectOrdersInput = {
  readonly order_id: string
  readonly reason?: string | null | undefined
}

export type SellerAddTransactionInput = {
  readonly order_id: string
  /** <txid>:<vout> */
  readonly transaction: string
  readonly attestation?: AttestationInput | null | undefined
}

/** The statement about the channel that the seller's node signs. */
export type AttestationInput = {
  readonly capacity: string
  readonly node_keys: readonly string[]
  readonly funding_keys?: readonly string[] | null | undefined
  readonly channel_type: string
  readonly push_sats: string
  readonly reserve_sats: string
  readonly signature: string
}

export type AddedTransaction = {
  readonly id: string
  readonly success: boolean
  /** The last block height at which you may publish the transaction. Later, the market could not see or prove it in time. */
  readonly broadcast_until_height: number | null
}

export type LiquidityOrderInput = {
  /** The node that receives the channel, as <pubkey>@<host>:<port>. */
  readonly connection_uri?: string | null | undefined
  /** Dollar cents, at least 500. */
  readonly usd_cents?: string | null | undefined
  /** Address to which the hosted checkout sends the customer at its end. https only. */
  readonly redirect_url?: string | null | undefined
  readonly options?: LiquidityOrderOptionsInput | null | undefined
}

export type LiquidityOrderOptionsInput = {
  /** true: a private channel. */
  readonly private?: boolean | null | undefined
  /** true: only sellers of the rails cluster. */
  readonly rails_cluster_only?: boolean | null | undefined
  /** An asset other than BTC. */
  readonly asset_id?: string | null | undefined
}

export type LiquidityOrderResult = {
  readonly id: string
  readonly account: BuyerAccount
  readonly order: BoughtOrder
  readonly payment: BoughtPayment
}

export type BuyerAccount = {
  readonly id: string
  /** The credential that reads the order without an API key. It is shown only once. */
  readonly session_key: string
}

export type BoughtOrder = {
  readonly id: string
  readonly transaction_id: string
  readonly usd_cents: string | null
}

export type BoughtPayment = {
  readonly id: string
  /** A BOLT 11 hold invoice. It locks the payment, which is settled when the channel is proven open. */
  readonly lightning_invoice: string
  /** The hosted checkout page of this invoice. */
  readonly redirect_url: string
  readonly amount: Sats
}

export type CreateAccountInput = {
  readonly email: string
  /** At least 12 characters. */
  readonly password: string
}

export type AccountToken = {
  readonly id: string
  /** The dashboard token, for the header `Authorization: Bearer`. */
  readonly token: string
  readonly account: Account
}

export type LoginInput = {
  readonly email?: string | null | undefined
  readonly password?: string | null | undefined
  readonly pubkey?: string | null | undefined
  readonly challenge?: string | null | undefined
  readonly signature?: string | null | undefined
}

export type ChangePasswordInput = {
  readonly password: string
  /** At least 12 characters. */
  readonly new_password: string
  /** true: the account's API keys end too. */
  readonly end_api_keys?: boolean | null | undefined
}

export type DeleteAccountInput = {
  readonly password: string
}

export type CreateApiKeyInput = {
  readonly name?: string | null | undefined
  readonly expires_at?: string | null | undefined
}

export type CreatedApiKey = {
  readonly id: string
  /** The key. It is shown only once. */
  readonly key: string
  readonly api_key: ApiKey
}

export type RevokedApiKey = {
  readonly id: string
  readonly active: boolean
}

export type ConnectNodeInput = {
  readonly pubkey: string
  readonly challenge: string
  readonly signature: string
}

export type CreatePaymentsEnvironmentInput = {
  /** 1 to 100 characters. */
  readonly name: string
  readonly type: PaymentsEnvironmentType
  /** For a LIVE environment only. */
  readonly live?: LivePaymentsEnvironmentInput | null | undefined
}

/** Addresses to which the page of a paid activation returns. */
export type LivePaymentsEnvironmentInput = {
  readonly success_url?: string | null | undefined
  readonly cancel_url?: string | null | undefined
}

export type CreatePaymentsWalletInput = {
  /** 1 to 100 characters. */
  readonly name: string
  readonly environment_id: string
  /** The id of an asset of `public.assets.supported`. */
  readonly asset_id: string
}

export type CreateReceiveTransactionInput = {
  readonly wallet_id: string
  /** Base units of the wallet's asset: 1 to 16 digits, without a sign or a leading zero. */
  readonly amount: string
  /** At most 640 characters. The payer sees it. An invoice contains only the SHA-256 of a text of more than 639 bytes. */
  readonly description?: string | null | undefined
  /** 1 to 2592000. Default: 600. */
  readonly expires_in_seconds?: number | null | undefined
  /** 1 to 255 characters. */
  readonly idempotency_key?: string | null | undefined
  /**
   * A JSON object as text, at most 2048 characters. It is returned unchanged. In a sandbox, `svc_sandbox_behavior` chooses the end
   * of the transaction: complete, fail or expire (the default).
   */
  readonly metadata?: string | null | undefined
  readonly bolt11?: ReceiveBolt11Input | null | undefined
}

/** Fields of the invoice. */
export type ReceiveBolt11Input = {
  /** 64 hex digits, which the invoice contains in place of the description. */
  readonly description_hash?: string | null | undefined
}

/** Exactly one of request and address. */
export type CreateSendTransactionInput = {
  readonly wallet_id: string
  readonly request?: SendByRequest | null | undefined
  readonly address?: SendByAddress | null | undefined
  /** 1 to 255 characters. */
  readonly idempotency_key?: string | null | undefined
  /** As for `create_receive`. */
  readonly metadata?: string | null | undefined
}

export type SendByRequest = {
  /** A BOLT11 invoice of any network, at most 2048 characters. */
  readonly bolt11: string
  /** Base units of the wallet's asset, for an invoice without an amount. */
  readonly amount?: string | null | undefined
}

export type SendByAddress = {
  /** `name@domain`, at most 255 characters. In a sandbox the address is not looked up. */
  readonly lightning_address: string
  /** Satoshis. */
  readonly amount: string
}

export type CreateWebhookEndpointInput = {
  readonly environment_id: string
  /** https, port 443 or at least 1024, a public host, no user name and no password. */
  readonly url: string
  /** No list, or an empty one: all events. */
  readonly event_filters?: readonly string[] | null | undefined
}

export type CreateWebhookEndpointResult = {
  /** The endpoint's id. */
  readonly id: string
  /** whsec_ and 32 bytes in base64. No other answer contains it. */
  readonly secret: string
  readonly endpoint: WebhookEndpoint
}

export type UpdateWebhookEndpointInput = {
  readonly id: string
  readonly url?: string | null | undefined
  readonly event_filters?: readonly string[] | null | undefined
  /** False keeps deliveries back. True continues with those of the last 5 days. */
  readonly active?: boolean | null | undefined
}

export type CreateServiceApiKeyInput = {
  /** 1 to 100 characters. */
  readonly name: string
  readonly environment_id: string
  /** The only wallet that the key works for. WALLET_CREDENTIALS needs it. */
  readonly wallet_id?: string | null | undefined
  /** Not served yet: leave it out. */
  readonly node_id?: string | null | undefined
  /** A time in the future. A key without it does not expire. */
  readonly expires_at?: string | null | undefined
  /** At least one. Several entries of a resource count as the highest of them. */
  readonly permissions: readonly ServiceApiKeyPermissionInput[]
}

export type ServiceApiKeyPermissionInput = {
  readonly resource: ServiceApiKeyPermissionResource
  readonly level: ServiceApiKeyPermissionLevel
}

export type CreateServiceApiKeyResult = {
  /** The id of the key. */
  readonly id: string
  /** The key, for the header x-api-key. No other answer contains it. */
  readonly plaintext_key: string
  readonly key: ServiceApiKey
}

export type UpdateServiceApiKeyInput = {
  /** 1 to 100 characters. */
  readonly name: string
}
