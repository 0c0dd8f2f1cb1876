// Types of inputs and results, from the schema: npm run generate

export type Maybe<T> = T | null;
export type InputMaybe<T> = T | null;
/** All built-in and custom scalars, mapped to their actual values */
export type Scalars = {
  ID: { input: string; output: string; }
  String: { input: string; output: string; }
  Boolean: { input: boolean; output: boolean; }
  Int: { input: number; output: number; }
  Float: { input: number; output: number; }
  WholeNumber: { input: string; output: string; }
};

export type Account = {
  readonly created_at: Maybe<Scalars['String']['output']>;
  readonly email: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['String']['output'];
  readonly nodes: ReadonlyArray<AccountNode>;
};

export type AccountMutations = {
  readonly change_password: Maybe<Success>;
  readonly create: Maybe<AccountToken>;
  readonly create_api_key: Maybe<CreatedApiKey>;
  readonly delete: Maybe<Success>;
  readonly id: Scalars['String']['output'];
  readonly log_out_everywhere: Maybe<Success>;
  readonly login: Maybe<AccountToken>;
  readonly login_challenge: Maybe<Scalars['String']['output']>;
  readonly logout: Maybe<Success>;
  readonly node: AccountNodeMutations;
  readonly revoke_api_key: Maybe<RevokedApiKey>;
};


export type AccountMutationsChangePasswordArgs = {
  input: ChangePasswordInput;
};


export type AccountMutationsCreateArgs = {
  input: CreateAccountInput;
};


export type AccountMutationsCreateApiKeyArgs = {
  input: CreateApiKeyInput;
};


export type AccountMutationsDeleteArgs = {
  input: DeleteAccountInput;
};


export type AccountMutationsLogOutEverywhereArgs = {
  end_api_keys?: InputMaybe<Scalars['Boolean']['input']>;
};


export type AccountMutationsLoginArgs = {
  input: LoginInput;
};


export type AccountMutationsLoginChallengeArgs = {
  pubkey: Scalars['String']['input'];
};


export type AccountMutationsRevokeApiKeyArgs = {
  id: Scalars['String']['input'];
};

export type AccountNode = {
  readonly alias: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['String']['output'];
  readonly pubkey: Scalars['String']['output'];
};

export type AccountNodeMutations = {
  readonly challenge: Maybe<Scalars['String']['output']>;
  readonly connect: Maybe<Success>;
  readonly id: Scalars['String']['output'];
};


export type AccountNodeMutationsChallengeArgs = {
  pubkey: Scalars['String']['input'];
};


export type AccountNodeMutationsConnectArgs = {
  input: ConnectNodeInput;
};

export type AccountQueries = {
  readonly api_keys: Maybe<ApiKeys>;
  readonly id: Scalars['String']['output'];
  readonly me: Maybe<Account>;
  readonly sessions: Maybe<ReadonlyArray<AccountSession>>;
};


export type AccountQueriesApiKeysArgs = {
  page?: InputMaybe<PageInput>;
};

export type AccountSession = {
  readonly created_at: Maybe<Scalars['String']['output']>;
  readonly current: Scalars['Boolean']['output'];
  readonly id: Scalars['String']['output'];
  readonly ip_prefix: Maybe<Scalars['String']['output']>;
  readonly last_used_at: Maybe<Scalars['String']['output']>;
};

export type AccountToken = {
  readonly account: Account;
  readonly id: Scalars['String']['output'];
  readonly token: Scalars['String']['output'];
};

export type AddedTransaction = {
  readonly broadcast_until_height: Maybe<Scalars['Int']['output']>;
  readonly id: Scalars['String']['output'];
  readonly success: Scalars['Boolean']['output'];
};

export type ApiKey = {
  readonly active: Scalars['Boolean']['output'];
  readonly created_at: Scalars['String']['output'];
  readonly expires_at: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['String']['output'];
  readonly key_prefix: Scalars['String']['output'];
  readonly key_suffix: Scalars['String']['output'];
  readonly name: Maybe<Scalars['String']['output']>;
};

export type ApiKeys = {
  readonly id: Scalars['String']['output'];
  readonly list: ReadonlyArray<ApiKey>;
  readonly pagination: Pagination;
  readonly total_count: Scalars['Int']['output'];
};

export type AttestInput = {
  readonly at: Scalars['String']['input'];
  readonly confirmed_sats: Scalars['String']['input'];
  readonly pubkey: Scalars['String']['input'];
  readonly signature: Scalars['String']['input'];
};

export type AttestationInput = {
  readonly capacity: Scalars['String']['input'];
  readonly channel_type: Scalars['String']['input'];
  readonly funding_keys?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  readonly node_keys: ReadonlyArray<Scalars['String']['input']>;
  readonly push_sats: Scalars['String']['input'];
  readonly reserve_sats: Scalars['String']['input'];
  readonly signature: Scalars['String']['input'];
};

export type AvailableTaprootAsset = {
  readonly group_key: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['String']['output'];
  readonly precision: Scalars['Int']['output'];
  readonly symbol: Scalars['String']['output'];
  readonly type: BitcoinAssetType;
  readonly universe: Maybe<Scalars['String']['output']>;
};

export type BitcoinAsset = {
  readonly description: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['String']['output'];
  readonly precision: Scalars['Int']['output'];
  readonly prices: BitcoinAssetPrices;
  readonly symbol: Scalars['String']['output'];
  readonly taproot_asset_details: Maybe<TaprootAssetDetails>;
  readonly type: BitcoinAssetType;
  readonly website_url: Maybe<Scalars['String']['output']>;
};

export type BitcoinAssetAmount = {
  readonly asset: BitcoinAsset;
  readonly display_amount: Scalars['String']['output'];
  readonly full_amount: Scalars['String']['output'];
  readonly id: Scalars['String']['output'];
  readonly value: BitcoinAssetValue;
};

export type BitcoinAssetPrices = {
  readonly id: Scalars['String']['output'];
  readonly usd: Maybe<Scalars['String']['output']>;
};

export type BitcoinAssetType =
  | 'BASE_ASSET'
  | 'TAPROOT_ASSET';

export type BitcoinAssetValue = {
  readonly id: Scalars['String']['output'];
  readonly usd_value: Maybe<Scalars['String']['output']>;
};

export type BoughtOrder = {
  readonly id: Scalars['String']['output'];
  readonly transaction_id: Scalars['String']['output'];
  readonly usd_cents: Maybe<Scalars['String']['output']>;
};

export type BoughtPayment = {
  readonly amount: Sats;
  readonly id: Scalars['String']['output'];
  readonly lightning_invoice: Scalars['String']['output'];
  readonly redirect_url: Scalars['String']['output'];
};

export type BuyerAccount = {
  readonly id: Scalars['String']['output'];
  readonly session_key: Scalars['String']['output'];
};

export type BuyerFees = {
  readonly id: Scalars['String']['output'];
  readonly sats: Scalars['String']['output'];
  readonly usd: Maybe<Scalars['String']['output']>;
};

export type CancelOrderInput = {
  readonly cancellation_reason?: InputMaybe<OrderCancellationReason>;
  readonly order_id: Scalars['String']['input'];
};

export type ChangePasswordInput = {
  readonly end_api_keys?: InputMaybe<Scalars['Boolean']['input']>;
  readonly new_password: Scalars['String']['input'];
  readonly password: Scalars['String']['input'];
};

export type ConnectNodeInput = {
  readonly challenge: Scalars['String']['input'];
  readonly pubkey: Scalars['String']['input'];
  readonly signature: Scalars['String']['input'];
};

export type CreateAccountInput = {
  readonly email: Scalars['String']['input'];
  readonly password: Scalars['String']['input'];
};

export type CreateApiKeyInput = {
  readonly expires_at?: InputMaybe<Scalars['String']['input']>;
  readonly name?: InputMaybe<Scalars['String']['input']>;
};

export type CreateManualOrderInput = {
  readonly offer_id: Scalars['String']['input'];
  readonly options?: InputMaybe<ManualOrderOptionsInput>;
  readonly payment_method?: InputMaybe<Scalars['String']['input']>;
  readonly pubkey: Scalars['String']['input'];
  readonly referrer?: InputMaybe<Scalars['String']['input']>;
  readonly size: Scalars['WholeNumber']['input'];
};

export type CreateOfferInput = {
  readonly asset_id?: InputMaybe<Scalars['String']['input']>;
  readonly auto_accept?: InputMaybe<Scalars['Boolean']['input']>;
  readonly base_fee: Scalars['WholeNumber']['input'];
  readonly base_fee_cap: Scalars['WholeNumber']['input'];
  readonly conditions?: InputMaybe<ReadonlyArray<OfferConditionInput>>;
  readonly fee_rate: Scalars['WholeNumber']['input'];
  readonly fee_rate_cap: Scalars['WholeNumber']['input'];
  readonly max_size: Scalars['WholeNumber']['input'];
  readonly min_block_length: Scalars['WholeNumber']['input'];
  readonly min_size: Scalars['WholeNumber']['input'];
  readonly onchain_multiplier?: InputMaybe<Scalars['Float']['input']>;
  readonly onchain_priority?: InputMaybe<OnchainPriority>;
  readonly pubkey: Scalars['String']['input'];
  readonly total_size: Scalars['WholeNumber']['input'];
};

export type CreatePaymentsEnvironmentInput = {
  readonly live?: InputMaybe<LivePaymentsEnvironmentInput>;
  readonly name: Scalars['String']['input'];
  readonly type: PaymentsEnvironmentType;
};

export type CreatePaymentsWalletInput = {
  readonly asset_id: Scalars['String']['input'];
  readonly environment_id: Scalars['String']['input'];
  readonly name: Scalars['String']['input'];
};

export type CreateReceiveTransactionInput = {
  readonly amount: Scalars['String']['input'];
  readonly bolt11?: InputMaybe<ReceiveBolt11Input>;
  readonly description?: InputMaybe<Scalars['String']['input']>;
  readonly expires_in_seconds?: InputMaybe<Scalars['Int']['input']>;
  readonly idempotency_key?: InputMaybe<Scalars['String']['input']>;
  readonly metadata?: InputMaybe<Scalars['String']['input']>;
  readonly wallet_id: Scalars['String']['input'];
};

export type CreateSendTransactionInput = {
  readonly address?: InputMaybe<SendByAddress>;
  readonly idempotency_key?: InputMaybe<Scalars['String']['input']>;
  readonly metadata?: InputMaybe<Scalars['String']['input']>;
  readonly request?: InputMaybe<SendByRequest>;
  readonly wallet_id: Scalars['String']['input'];
};

export type CreateServiceApiKeyInput = {
  readonly environment_id: Scalars['String']['input'];
  readonly expires_at?: InputMaybe<Scalars['String']['input']>;
  readonly name: Scalars['String']['input'];
  readonly node_id?: InputMaybe<Scalars['String']['input']>;
  readonly permissions: ReadonlyArray<ServiceApiKeyPermissionInput>;
  readonly wallet_id?: InputMaybe<Scalars['String']['input']>;
};

export type CreateServiceApiKeyResult = {
  readonly id: Scalars['String']['output'];
  readonly key: ServiceApiKey;
  readonly plaintext_key: Scalars['String']['output'];
};

export type CreateWebhookEndpointInput = {
  readonly environment_id: Scalars['String']['input'];
  readonly event_filters?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  readonly url: Scalars['String']['input'];
};

export type CreateWebhookEndpointResult = {
  readonly endpoint: WebhookEndpoint;
  readonly id: Scalars['String']['output'];
  readonly secret: Scalars['String']['output'];
};

export type CreatedApiKey = {
  readonly api_key: ApiKey;
  readonly id: Scalars['String']['output'];
  readonly key: Scalars['String']['output'];
};

export type DateRangeInput = {
  readonly from?: InputMaybe<Scalars['String']['input']>;
  readonly to?: InputMaybe<Scalars['String']['input']>;
};

export type DeleteAccountInput = {
  readonly password: Scalars['String']['input'];
};

export type EnvironmentMutations = {
  readonly create: Maybe<PaymentsEnvironment>;
  readonly delete: Maybe<Scalars['Boolean']['output']>;
  readonly id: Scalars['String']['output'];
};


export type EnvironmentMutationsCreateArgs = {
  input: CreatePaymentsEnvironmentInput;
};


export type EnvironmentMutationsDeleteArgs = {
  id: Scalars['String']['input'];
};

export type EnvironmentQueries = {
  readonly find_many: Maybe<FindManyEnvironments>;
  readonly find_one: Maybe<PaymentsEnvironment>;
  readonly id: Scalars['String']['output'];
};


export type EnvironmentQueriesFindManyArgs = {
  input?: InputMaybe<FindManyEnvironmentsInput>;
};


export type EnvironmentQueriesFindOneArgs = {
  id: Scalars['String']['input'];
};

export type FindManyEnvironments = {
  readonly id: Scalars['String']['output'];
  readonly list: ReadonlyArray<SimplePaymentsEnvironment>;
  readonly pagination: Pagination;
  readonly total_count: Scalars['Int']['output'];
};

export type FindManyEnvironmentsInput = {
  readonly page?: InputMaybe<PageInput>;
};

export type FindManyTransactions = {
  readonly id: Scalars['String']['output'];
  readonly list: ReadonlyArray<SimplePaymentsTransaction>;
  readonly pagination: Pagination;
  readonly total_count: Scalars['Int']['output'];
};

export type FindManyWallets = {
  readonly id: Scalars['String']['output'];
  readonly list: ReadonlyArray<SimplePaymentsWallet>;
  readonly pagination: Pagination;
  readonly total_count: Scalars['Int']['output'];
};


export type FindManyWalletsListArgs = {
  environment_id?: InputMaybe<Scalars['String']['input']>;
};

export type FindManyWalletsInput = {
  readonly environment_id?: InputMaybe<Scalars['String']['input']>;
  readonly page?: InputMaybe<PageInput>;
};

export type FindManyWebhookEndpoints = {
  readonly id: Scalars['String']['output'];
  readonly list: ReadonlyArray<SimpleWebhookEndpoint>;
  readonly pagination: Pagination;
  readonly total_count: Scalars['Int']['output'];
};


export type FindManyWebhookEndpointsListArgs = {
  environment_id?: InputMaybe<Scalars['String']['input']>;
};

export type FindManyWebhookEndpointsInput = {
  readonly environment_id?: InputMaybe<Scalars['String']['input']>;
  readonly page?: InputMaybe<PageInput>;
};

export type FindManyWebhookEvents = {
  readonly id: Scalars['String']['output'];
  readonly list: ReadonlyArray<SimpleWebhookEvent>;
  readonly pagination: Pagination;
  readonly total_count: Scalars['Int']['output'];
};

export type FindTransactionByLightningInput = {
  readonly payment_hash: Scalars['String']['input'];
};

export type LiquidityMutations = {
  readonly buy: Maybe<LiquidityOrderResult>;
  readonly id: Scalars['String']['output'];
};


export type LiquidityMutationsBuyArgs = {
  input: LiquidityOrderInput;
};

export type LiquidityOrderInput = {
  readonly connection_uri?: InputMaybe<Scalars['String']['input']>;
  readonly options?: InputMaybe<LiquidityOrderOptionsInput>;
  readonly redirect_url?: InputMaybe<Scalars['String']['input']>;
  readonly usd_cents?: InputMaybe<Scalars['String']['input']>;
};

export type LiquidityOrderOptionsInput = {
  readonly asset_id?: InputMaybe<Scalars['String']['input']>;
  readonly private?: InputMaybe<Scalars['Boolean']['input']>;
  readonly rails_cluster_only?: InputMaybe<Scalars['Boolean']['input']>;
};

export type LiquidityOrderResult = {
  readonly account: BuyerAccount;
  readonly id: Scalars['String']['output'];
  readonly order: BoughtOrder;
  readonly payment: BoughtPayment;
};

export type LiquidityPerUsd = {
  readonly id: Scalars['String']['output'];
  readonly sats: Scalars['String']['output'];
  readonly usd: Scalars['String']['output'];
};

export type ListTransactionsFilterInput = {
  readonly date_range?: InputMaybe<DateRangeInput>;
  readonly direction?: InputMaybe<PaymentsTransactionDirection>;
  readonly status?: InputMaybe<PaymentsTransactionStatus>;
};

export type ListTransactionsInput = {
  readonly environment_id?: InputMaybe<Scalars['String']['input']>;
  readonly filter?: InputMaybe<ListTransactionsFilterInput>;
  readonly page?: InputMaybe<PageInput>;
  readonly wallet_id?: InputMaybe<Scalars['String']['input']>;
};

export type ListWebhookEventsFilterInput = {
  readonly date_range?: InputMaybe<DateRangeInput>;
  readonly endpoint_id?: InputMaybe<Scalars['String']['input']>;
  readonly event_type?: InputMaybe<Scalars['String']['input']>;
  readonly transaction_id?: InputMaybe<Scalars['String']['input']>;
  readonly wallet_id?: InputMaybe<Scalars['String']['input']>;
};

export type ListWebhookEventsInput = {
  readonly environment_id: Scalars['String']['input'];
  readonly filter?: InputMaybe<ListWebhookEventsFilterInput>;
  readonly page?: InputMaybe<PageInput>;
};

export type LivePaymentsEnvironmentInput = {
  readonly cancel_url?: InputMaybe<Scalars['String']['input']>;
  readonly success_url?: InputMaybe<Scalars['String']['input']>;
};

export type LoginInput = {
  readonly challenge?: InputMaybe<Scalars['String']['input']>;
  readonly email?: InputMaybe<Scalars['String']['input']>;
  readonly password?: InputMaybe<Scalars['String']['input']>;
  readonly pubkey?: InputMaybe<Scalars['String']['input']>;
  readonly signature?: InputMaybe<Scalars['String']['input']>;
};

export type ManualOrderOptionsInput = {
  readonly asset_id?: InputMaybe<Scalars['String']['input']>;
  readonly private?: InputMaybe<Scalars['Boolean']['input']>;
};

export type MarketLiquidityQueries = {
  readonly id: Scalars['String']['output'];
  readonly liquidity_per_usd: Maybe<LiquidityPerUsd>;
};

export type MarketMutations = {
  readonly id: Scalars['String']['output'];
  readonly offer: MarketOfferMutations;
  readonly order: MarketOrderMutations;
};

export type MarketOffer = {
  readonly asset: OrderAsset;
  readonly asset_id: Maybe<Scalars['String']['output']>;
  readonly auto_accept: Scalars['Boolean']['output'];
  readonly available_size: Scalars['String']['output'];
  readonly base_fee: Scalars['String']['output'];
  readonly base_fee_cap: Scalars['String']['output'];
  readonly conditions: ReadonlyArray<OfferCondition>;
  readonly created_at: Scalars['String']['output'];
  readonly fee_rate: Scalars['Int']['output'];
  readonly fee_rate_cap: Scalars['Int']['output'];
  readonly fees: OfferFees;
  readonly filled_orders: Scalars['Int']['output'];
  readonly id: Scalars['String']['output'];
  readonly is_owner: Scalars['Boolean']['output'];
  readonly locked_amount: SizeAmount;
  readonly locked_size: Scalars['String']['output'];
  readonly max_amount: SizeAmount;
  readonly max_size: Scalars['String']['output'];
  readonly min_amount: SizeAmount;
  readonly min_block_length: Scalars['Int']['output'];
  readonly min_size: Scalars['String']['output'];
  readonly node: Node;
  readonly onchain_multiplier: Scalars['Float']['output'];
  readonly onchain_priority: OnchainPriority;
  readonly orders: Maybe<MarketOrders>;
  readonly promises: OfferPromises;
  readonly pubkey: Scalars['String']['output'];
  readonly seller: OfferSeller;
  readonly status: OfferStatus;
  readonly total_amount: SizeAmount;
  readonly total_size: Scalars['String']['output'];
  readonly updated_at: Scalars['String']['output'];
};


export type MarketOfferOrdersArgs = {
  page?: InputMaybe<PageInput>;
};

export type MarketOfferMutations = {
  readonly attest: Maybe<Success>;
  readonly create: Maybe<OfferResult>;
  readonly id: Scalars['String']['output'];
  readonly toggle: Maybe<OfferResult>;
  readonly update: Maybe<OfferResult>;
};


export type MarketOfferMutationsAttestArgs = {
  input: AttestInput;
};


export type MarketOfferMutationsCreateArgs = {
  input: CreateOfferInput;
};


export type MarketOfferMutationsToggleArgs = {
  input: ToggleOfferInput;
};


export type MarketOfferMutationsUpdateArgs = {
  input: UpdateOfferInput;
};

export type MarketOfferQueries = {
  readonly id: Scalars['String']['output'];
  readonly offer: Maybe<MarketOffer>;
  readonly offers: Maybe<MarketOffers>;
};


export type MarketOfferQueriesOfferArgs = {
  offer_id: Scalars['String']['input'];
};


export type MarketOfferQueriesOffersArgs = {
  filter?: InputMaybe<OfferFilterInput>;
  page?: InputMaybe<PageInput>;
};

export type MarketOffers = {
  readonly id: Scalars['String']['output'];
  readonly list: ReadonlyArray<SimpleMarketOffer>;
  readonly pagination: Pagination;
  readonly total: Scalars['Int']['output'];
  readonly total_count: Scalars['Int']['output'];
};

export type MarketOrder = {
  readonly action_needed: Scalars['Boolean']['output'];
  readonly amount: SizeAmount;
  readonly asset: OrderAsset;
  readonly blocks_until_can_be_closed: Maybe<Scalars['Int']['output']>;
  readonly broadcast_until_height: Maybe<Scalars['Int']['output']>;
  readonly channel_id: Maybe<Scalars['String']['output']>;
  readonly closing: Maybe<Scalars['String']['output']>;
  readonly confirmations: OrderConfirmations;
  readonly created_at: Scalars['String']['output'];
  readonly destination: Node;
  readonly fees: OrderFees;
  readonly id: Scalars['String']['output'];
  readonly is_seller: Scalars['Boolean']['output'];
  readonly options: OrderOptions;
  readonly outpoint: Maybe<Scalars['String']['output']>;
  readonly payment: OrderPayment;
  readonly payment_status: Maybe<OrderPaymentStatus>;
  readonly payout: Maybe<OrderPayout>;
  readonly promises: OrderPromises;
  readonly reason: Maybe<Scalars['String']['output']>;
  readonly refund: Maybe<OrderRefund>;
  readonly simple_offer: Maybe<SimpleMarketOffer>;
  readonly size: Scalars['String']['output'];
  readonly source: Node;
  readonly status: OrderStatus;
  readonly timeline: ReadonlyArray<OrderStep>;
  readonly timeout: Maybe<Scalars['String']['output']>;
  readonly transaction_id: Scalars['String']['output'];
};

export type MarketOrderMutations = {
  readonly cancel: Maybe<Success>;
  readonly create: Maybe<MarketOrder>;
  readonly id: Scalars['String']['output'];
  readonly refund: Maybe<Success>;
  readonly seller: MarketSellerMutations;
};


export type MarketOrderMutationsCancelArgs = {
  input: CancelOrderInput;
};


export type MarketOrderMutationsCreateArgs = {
  input: CreateManualOrderInput;
};


export type MarketOrderMutationsRefundArgs = {
  input: RefundOrderInput;
};

export type MarketOrders = {
  readonly id: Scalars['String']['output'];
  readonly list: ReadonlyArray<SimpleMarketOrder>;
  readonly pagination: Pagination;
  readonly total: Scalars['Int']['output'];
  readonly total_count: Scalars['Int']['output'];
};

export type MarketQueries = {
  readonly id: Scalars['String']['output'];
  readonly liquidity: MarketLiquidityQueries;
  readonly offer: MarketOfferQueries;
};

export type MarketSellerMutations = {
  readonly accept: Maybe<Success>;
  readonly add_transaction: Maybe<AddedTransaction>;
  readonly id: Scalars['String']['output'];
  readonly reject: Maybe<Success>;
};


export type MarketSellerMutationsAcceptArgs = {
  input: SellerAcceptOrdersInput;
};


export type MarketSellerMutationsAddTransactionArgs = {
  input: SellerAddTransactionInput;
};


export type MarketSellerMutationsRejectArgs = {
  input: SellerRejectOrdersInput;
};

export type MarketTransaction = {
  readonly created_at: Scalars['String']['output'];
  readonly id: Scalars['String']['output'];
  readonly status: OrderStatus;
};

export type MarketTransactionList = {
  readonly id: Scalars['String']['output'];
  readonly list: ReadonlyArray<MarketTransaction>;
  readonly pagination: Pagination;
  readonly total_count: Scalars['Int']['output'];
};

export type Mutation = {
  readonly account: AccountMutations;
  readonly liquidity: LiquidityMutations;
  readonly market: MarketMutations;
  readonly payment: PaymentMutations;
  readonly service_api_key: ServiceApiKeyMutations;
};

export type Node = {
  readonly alias: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['String']['output'];
  readonly pubkey: Scalars['String']['output'];
  readonly sockets: ReadonlyArray<Scalars['String']['output']>;
};

export type OfferCondition = {
  readonly condition: OfferConditionType;
  readonly id: Scalars['String']['output'];
  readonly operator: OfferConditionOperator;
  readonly value: Scalars['String']['output'];
};

export type OfferConditionInput = {
  readonly condition: OfferConditionType;
  readonly operator: OfferConditionOperator;
  readonly value: Scalars['WholeNumber']['input'];
};

export type OfferConditionOperator =
  | 'EQUAL'
  | 'GREATER_THAN'
  | 'GREATER_THAN_OR_EQUAL_TO'
  | 'LESS_THAN'
  | 'LESS_THAN_OR_EQUAL_TO'
  | 'NOT_EQUAL';

export type OfferConditionType =
  | 'NODE_CAPACITY'
  | 'NODE_CHANNELS'
  | 'NODE_SOCKETS'
  | 'PARALLEL_CHANNELS';

export type OfferFees = {
  readonly amboss: Sats;
  readonly fixed: Sats;
  readonly id: Scalars['String']['output'];
  readonly variable: Sats;
};

export type OfferFilterInput = {
  readonly pubkey?: InputMaybe<Scalars['String']['input']>;
  readonly size?: InputMaybe<Scalars['WholeNumber']['input']>;
  readonly status?: InputMaybe<OfferStatus>;
};

export type OfferPromises = {
  readonly base_fee_cap: Scalars['String']['output'];
  readonly fee_rate_cap: Scalars['Int']['output'];
  readonly id: Scalars['String']['output'];
  readonly min_block_length: Scalars['Int']['output'];
};

export type OfferResult = {
  readonly id: Scalars['String']['output'];
  readonly offer_id: Scalars['String']['output'];
  readonly status: OfferStatus;
  readonly success: Scalars['Boolean']['output'];
};

export type OfferSeller = {
  readonly id: Scalars['String']['output'];
  readonly live: Scalars['Boolean']['output'];
  readonly outcomes: ReadonlyArray<SellerOutcome>;
  readonly rails: Scalars['Boolean']['output'];
  readonly score: Scalars['Float']['output'];
};

export type OfferStatus =
  | 'ADMIN_DISABLED'
  | 'DISABLED'
  | 'ENABLED';

export type OnchainPriority =
  | 'HIGH'
  | 'LOW'
  | 'MEDIUM';

export type OperatorLoss =
  | 'ASKED'
  | 'BORNE'
  | 'REFUTED';

export type OrderAsset = {
  readonly id: Scalars['String']['output'];
  readonly symbol: Scalars['String']['output'];
};

export type OrderCancellationReason =
  | 'CHANNEL_SIZE_OUT_OF_BOUNDS'
  | 'UNABLE_TO_CONNECT_TO_NODE'
  | 'UNABLE_TO_PAY';

export type OrderConfirmations = {
  readonly confirmations: Scalars['Int']['output'];
  readonly id: Scalars['String']['output'];
};

export type OrderFees = {
  readonly amboss: Sats;
  readonly buyer: BuyerFees;
  readonly fixed: Sats;
  readonly id: Scalars['String']['output'];
  readonly seller: Sats;
  readonly variable: Sats;
};

export type OrderInput = {
  readonly action_needed?: InputMaybe<Scalars['Boolean']['input']>;
  readonly peer_pubkey?: InputMaybe<Scalars['String']['input']>;
};

export type OrderLightningPayment = {
  readonly id: Scalars['String']['output'];
  readonly invoice: Maybe<Scalars['String']['output']>;
  readonly pending: Scalars['Boolean']['output'];
};

export type OrderOptions = {
  readonly asset_id: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['String']['output'];
  readonly private: Scalars['Boolean']['output'];
  readonly rails_cluster_only: Scalars['Boolean']['output'];
};

export type OrderPayment = {
  readonly id: Scalars['String']['output'];
  readonly lightning: Maybe<OrderLightningPayment>;
  readonly redirect_url: Maybe<Scalars['String']['output']>;
};

export type OrderPaymentStatus =
  | 'HODL_INVOICE_TIMEOUT'
  | 'INVALID_PAYMENT_SECRET'
  | 'PAYMENT_FAILED'
  | 'PAYMENT_REJECTED_BY_DESTINATION'
  | 'PENDING_PAYMENT'
  | 'SELLER_INVOICE_EXPIRED'
  | 'SUCCESSFUL_PAYMENT';

export type OrderPayout = {
  readonly id: Scalars['String']['output'];
  readonly invoice_status: PayoutInvoiceStatus;
  readonly operator_loss: Maybe<OperatorLoss>;
  readonly reason: Maybe<Scalars['String']['output']>;
  readonly sats: Scalars['String']['output'];
  readonly status: Maybe<PayoutStatus>;
};

export type OrderPromises = {
  readonly id: Scalars['String']['output'];
  readonly locked_base_fee: Scalars['String']['output'];
  readonly locked_base_fee_cap: Sats;
  readonly locked_fee_rate: Scalars['Int']['output'];
  readonly locked_fee_rate_cap: Sats;
  readonly locked_min_block_length: Scalars['Int']['output'];
  readonly locked_onchain_multiplier: Scalars['Float']['output'];
  readonly locked_onchain_priority: OnchainPriority;
};

export type OrderRefund = {
  readonly id: Scalars['String']['output'];
  readonly msats: Scalars['String']['output'];
  readonly reason: Maybe<Scalars['String']['output']>;
  readonly url: Scalars['String']['output'];
};

export type OrderStatus =
  | 'ADMIN_CLOSED'
  | 'BUYER_FAILED_TO_PAY'
  | 'BUYER_REJECTED'
  | 'CHANNEL_MONITORING_FINISHED'
  | 'INVALID_CHANNEL_OPENING'
  | 'ON_CHAIN_CONFIRMATION'
  | 'SELLER_FAILED_TO_OPEN_CHANNEL'
  | 'SELLER_FAILED_TO_REACT'
  | 'SELLER_FAILED_TO_SEND_SWAP'
  | 'SELLER_OPENED_CHANNEL'
  | 'SELLER_REJECTED'
  | 'SELLER_SENT_TRANSACTION'
  | 'VALID_CHANNEL_OPENING'
  | 'WAITING_FOR_BUYER_PAYMENT'
  | 'WAITING_FOR_CHANNEL_OPEN'
  | 'WAITING_FOR_ON_CHAIN_CONFIRMATION'
  | 'WAITING_FOR_SELLER_APPROVAL';

export type OrderStep = {
  readonly at: Scalars['String']['output'];
  readonly fact: Scalars['String']['output'];
  readonly id: Scalars['String']['output'];
  readonly reason: Maybe<Scalars['String']['output']>;
  readonly status: Maybe<OrderStatus>;
};

export type PageInput = {
  readonly limit?: InputMaybe<Scalars['Int']['input']>;
  readonly offset?: InputMaybe<Scalars['Int']['input']>;
};

export type Pagination = {
  readonly id: Scalars['String']['output'];
  readonly limit: Scalars['Int']['output'];
  readonly offset: Scalars['Int']['output'];
};

export type PaymentMutations = {
  readonly environment: EnvironmentMutations;
  readonly id: Scalars['String']['output'];
  readonly transaction: TransactionMutations;
  readonly wallet: WalletMutations;
  readonly webhook_endpoint: WebhookEndpointMutations;
  readonly webhook_event: WebhookEventMutations;
};

export type PaymentQueries = {
  readonly environment: EnvironmentQueries;
  readonly id: Scalars['String']['output'];
  readonly transaction: TransactionQueries;
  readonly wallet: WalletQueries;
  readonly webhook_endpoint: WebhookEndpointQueries;
  readonly webhook_event: WebhookEventQueries;
};

export type PaymentsEnvironment = {
  readonly checkout_url: Maybe<Scalars['String']['output']>;
  readonly created_at: Scalars['String']['output'];
  readonly environment: PaymentsEnvironment;
  readonly id: Scalars['String']['output'];
  readonly name: Scalars['String']['output'];
  readonly type: PaymentsEnvironmentType;
  readonly updated_at: Scalars['String']['output'];
  readonly wallet_count: Scalars['Int']['output'];
};

export type PaymentsEnvironmentType =
  | 'LIVE'
  | 'SANDBOX';

export type PaymentsTransaction = {
  readonly amount: BitcoinAssetAmount;
  readonly amount_sats: Maybe<Scalars['String']['output']>;
  readonly asset: BitcoinAsset;
  readonly created_at: Scalars['String']['output'];
  readonly description: Maybe<Scalars['String']['output']>;
  readonly direction: PaymentsTransactionDirection;
  readonly error: Maybe<Scalars['String']['output']>;
  readonly events: ReadonlyArray<PaymentsTransactionEvent>;
  readonly exchange_rate: Maybe<Scalars['String']['output']>;
  readonly expires_at: Maybe<Scalars['String']['output']>;
  readonly fee: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['String']['output'];
  readonly idempotency_key: Scalars['String']['output'];
  readonly metadata: Maybe<Scalars['String']['output']>;
  readonly node_id: Maybe<Scalars['String']['output']>;
  readonly payment_hash: Maybe<Scalars['String']['output']>;
  readonly payment_request: Maybe<Scalars['String']['output']>;
  readonly preimage: Maybe<Scalars['String']['output']>;
  readonly settle_amount: Maybe<BitcoinAssetAmount>;
  /** @deprecated Use settle_amount instead. */
  readonly settle_amount_sats: Maybe<Scalars['String']['output']>;
  readonly settled_at: Maybe<Scalars['String']['output']>;
  readonly status: PaymentsTransactionStatus;
  readonly updated_at: Scalars['String']['output'];
  readonly wallet_id: Scalars['String']['output'];
};

export type PaymentsTransactionDirection =
  | 'RECEIVE'
  | 'SEND';

export type PaymentsTransactionEvent = {
  readonly created_at: Scalars['String']['output'];
  readonly details: Maybe<Scalars['String']['output']>;
  readonly event_type: Scalars['String']['output'];
  readonly id: Scalars['String']['output'];
  readonly message: Maybe<Scalars['String']['output']>;
};

export type PaymentsTransactionStatus =
  | 'COMPLETED'
  | 'EXPIRED'
  | 'FAILED'
  | 'PENDING';

export type PaymentsWallet = {
  readonly asset: BitcoinAsset;
  readonly asset_id: Scalars['String']['output'];
  readonly balance: PaymentsWalletBalance;
  readonly created_at: Scalars['String']['output'];
  readonly environment: PaymentsEnvironment;
  readonly environment_id: Scalars['String']['output'];
  readonly id: Scalars['String']['output'];
  readonly is_ready: Scalars['Boolean']['output'];
  readonly name: Scalars['String']['output'];
  readonly team_id: Scalars['String']['output'];
  readonly updated_at: Scalars['String']['output'];
};

export type PaymentsWalletBalance = {
  readonly balance: Scalars['String']['output'];
  readonly id: Scalars['String']['output'];
  readonly received: Scalars['String']['output'];
  readonly sent: Scalars['String']['output'];
};

export type PayoutInvoiceStatus =
  | 'NONE'
  | 'OFFERED'
  | 'REFUSED'
  | 'TAKEN';

export type PayoutStatus =
  | 'FAILED'
  | 'OPEN'
  | 'REQUESTED'
  | 'SUCCEEDED'
  | 'WITHHELD';

export type PublicAssetQueries = {
  readonly id: Scalars['String']['output'];
  readonly supported: Maybe<SupportedAssetList>;
};


export type PublicAssetQueriesSupportedArgs = {
  input?: InputMaybe<SupportedAssetsInput>;
};

export type PublicQueries = {
  readonly assets: PublicAssetQueries;
  readonly id: Scalars['String']['output'];
};

export type Query = {
  readonly account: AccountQueries;
  readonly market: MarketQueries;
  readonly payment: PaymentQueries;
  readonly public: PublicQueries;
  readonly service_api_keys: ServiceApiKeyQueries;
  readonly taproot_assets: TaprootAssetsQuery;
  readonly user: UserQueries;
};

export type ReceiveBolt11Input = {
  readonly description_hash?: InputMaybe<Scalars['String']['input']>;
};

export type RefundOrderInput = {
  readonly invoice: Scalars['String']['input'];
  readonly order_id: Scalars['String']['input'];
  readonly preimage: Scalars['String']['input'];
};

export type RevokedApiKey = {
  readonly active: Scalars['Boolean']['output'];
  readonly id: Scalars['String']['output'];
};

export type Sats = {
  readonly id: Scalars['String']['output'];
  readonly sats: Maybe<Scalars['String']['output']>;
};

export type SellerAcceptOrdersInput = {
  readonly order_id: Scalars['String']['input'];
  readonly request: Scalars['String']['input'];
};

export type SellerAddTransactionInput = {
  readonly attestation?: InputMaybe<AttestationInput>;
  readonly order_id: Scalars['String']['input'];
  readonly transaction: Scalars['String']['input'];
};

export type SellerOutcome = {
  readonly count: Scalars['Int']['output'];
  readonly id: Scalars['String']['output'];
  readonly outcome: Scalars['String']['output'];
};

export type SellerRejectOrdersInput = {
  readonly order_id: Scalars['String']['input'];
  readonly reason?: InputMaybe<Scalars['String']['input']>;
};

export type SendByAddress = {
  readonly amount: Scalars['String']['input'];
  readonly lightning_address: Scalars['String']['input'];
};

export type SendByRequest = {
  readonly amount?: InputMaybe<Scalars['String']['input']>;
  readonly bolt11: Scalars['String']['input'];
};

export type ServiceApiKey = {
  readonly active: Scalars['Boolean']['output'];
  readonly created_at: Scalars['String']['output'];
  readonly environment_id: Scalars['String']['output'];
  readonly expires_at: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['String']['output'];
  readonly key_prefix: Scalars['String']['output'];
  readonly key_suffix: Scalars['String']['output'];
  readonly last_used_at: Maybe<Scalars['String']['output']>;
  readonly name: Scalars['String']['output'];
  readonly node_id: Maybe<Scalars['String']['output']>;
  readonly permissions: ReadonlyArray<ServiceApiKeyPermissionEntry>;
  readonly wallet_id: Maybe<Scalars['String']['output']>;
};

export type ServiceApiKeyMutations = {
  readonly create: Maybe<CreateServiceApiKeyResult>;
  readonly id: Scalars['String']['output'];
  readonly revoke: Maybe<ServiceApiKey>;
  readonly update: Maybe<ServiceApiKey>;
};


export type ServiceApiKeyMutationsCreateArgs = {
  input: CreateServiceApiKeyInput;
};


export type ServiceApiKeyMutationsRevokeArgs = {
  id: Scalars['String']['input'];
};


export type ServiceApiKeyMutationsUpdateArgs = {
  id: Scalars['String']['input'];
  input: UpdateServiceApiKeyInput;
};

export type ServiceApiKeyPermissionEntry = {
  readonly id: Scalars['String']['output'];
  readonly level: ServiceApiKeyPermissionLevel;
  readonly resource: ServiceApiKeyPermissionResource;
};

export type ServiceApiKeyPermissionInput = {
  readonly level: ServiceApiKeyPermissionLevel;
  readonly resource: ServiceApiKeyPermissionResource;
};

export type ServiceApiKeyPermissionLevel =
  | 'READ'
  | 'WRITE';

export type ServiceApiKeyPermissionResource =
  | 'ENVIRONMENTS'
  | 'PAYMENTS'
  | 'WALLETS'
  | 'WALLET_CREDENTIALS'
  | 'WEBHOOKS';

export type ServiceApiKeyQueries = {
  readonly get_many: Maybe<ReadonlyArray<ServiceApiKey>>;
  readonly id: Scalars['String']['output'];
};


export type ServiceApiKeyQueriesGetManyArgs = {
  environment_id: Scalars['String']['input'];
};

export type SimpleMarketOffer = {
  readonly asset: OrderAsset;
  readonly asset_id: Maybe<Scalars['String']['output']>;
  readonly auto_accept: Scalars['Boolean']['output'];
  readonly available_size: Scalars['String']['output'];
  readonly base_fee: Scalars['String']['output'];
  readonly base_fee_cap: Scalars['String']['output'];
  readonly created_at: Scalars['String']['output'];
  readonly fee_rate: Scalars['Int']['output'];
  readonly fee_rate_cap: Scalars['Int']['output'];
  readonly fees: OfferFees;
  readonly filled_orders: Scalars['Int']['output'];
  readonly id: Scalars['String']['output'];
  readonly is_owner: Scalars['Boolean']['output'];
  readonly locked_amount: SizeAmount;
  readonly locked_size: Scalars['String']['output'];
  readonly max_amount: SizeAmount;
  readonly max_size: Scalars['String']['output'];
  readonly min_amount: SizeAmount;
  readonly min_block_length: Scalars['Int']['output'];
  readonly min_size: Scalars['String']['output'];
  readonly node: Node;
  readonly onchain_multiplier: Scalars['Float']['output'];
  readonly onchain_priority: OnchainPriority;
  readonly promises: OfferPromises;
  readonly pubkey: Scalars['String']['output'];
  readonly seller: OfferSeller;
  readonly status: OfferStatus;
  readonly total_amount: SizeAmount;
  readonly total_size: Scalars['String']['output'];
};

export type SimpleMarketOrder = {
  readonly action_needed: Scalars['Boolean']['output'];
  readonly amount: SizeAmount;
  readonly asset: OrderAsset;
  readonly channel_id: Maybe<Scalars['String']['output']>;
  readonly created_at: Scalars['String']['output'];
  readonly destination: Node;
  readonly fees: OrderFees;
  readonly id: Scalars['String']['output'];
  readonly is_seller: Scalars['Boolean']['output'];
  readonly options: OrderOptions;
  readonly outpoint: Maybe<Scalars['String']['output']>;
  readonly payment_status: Maybe<OrderPaymentStatus>;
  readonly payout: Maybe<OrderPayout>;
  readonly promises: OrderPromises;
  readonly refund: Maybe<OrderRefund>;
  readonly size: Scalars['String']['output'];
  readonly source: Node;
  readonly status: OrderStatus;
  readonly timeout: Maybe<Scalars['String']['output']>;
  readonly transaction_id: Scalars['String']['output'];
};

export type SimplePaymentsEnvironment = {
  readonly created_at: Scalars['String']['output'];
  readonly id: Scalars['String']['output'];
  readonly name: Scalars['String']['output'];
  readonly type: PaymentsEnvironmentType;
  readonly updated_at: Scalars['String']['output'];
  readonly wallet_count: Scalars['Int']['output'];
};

export type SimplePaymentsTransaction = {
  readonly amount: BitcoinAssetAmount;
  readonly asset: BitcoinAsset;
  readonly created_at: Scalars['String']['output'];
  readonly description: Maybe<Scalars['String']['output']>;
  readonly direction: PaymentsTransactionDirection;
  readonly fee: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['String']['output'];
  readonly metadata: Maybe<Scalars['String']['output']>;
  readonly settled_at: Maybe<Scalars['String']['output']>;
  readonly status: PaymentsTransactionStatus;
  readonly updated_at: Scalars['String']['output'];
  readonly wallet_id: Scalars['String']['output'];
};

export type SimplePaymentsWallet = {
  readonly asset: BitcoinAsset;
  readonly asset_id: Scalars['String']['output'];
  readonly created_at: Scalars['String']['output'];
  readonly environment_id: Scalars['String']['output'];
  readonly id: Scalars['String']['output'];
  readonly is_ready: Scalars['Boolean']['output'];
  readonly name: Scalars['String']['output'];
  readonly updated_at: Scalars['String']['output'];
};

export type SimpleWebhookEndpoint = {
  readonly active: Scalars['Boolean']['output'];
  readonly created_at: Scalars['String']['output'];
  readonly environment_id: Scalars['String']['output'];
  readonly event_filters: ReadonlyArray<Scalars['String']['output']>;
  readonly id: Scalars['String']['output'];
  readonly updated_at: Scalars['String']['output'];
  readonly url: Scalars['String']['output'];
};

export type SimpleWebhookEvent = {
  readonly created_at: Scalars['String']['output'];
  readonly deliveries: ReadonlyArray<WebhookDelivery>;
  readonly event_type: Scalars['String']['output'];
  readonly id: Scalars['String']['output'];
  readonly transaction_id: Maybe<Scalars['String']['output']>;
  readonly wallet_id: Maybe<Scalars['String']['output']>;
};

export type SizeAmount = {
  readonly id: Scalars['String']['output'];
  readonly satoshi: Maybe<Sats>;
};

export type Success = {
  readonly id: Scalars['String']['output'];
  readonly success: Scalars['Boolean']['output'];
};

export type SupportedAssetList = {
  readonly id: Scalars['String']['output'];
  readonly list: ReadonlyArray<BitcoinAsset>;
  readonly pagination: Pagination;
  readonly total_count: Scalars['Int']['output'];
};

export type SupportedAssetsInput = {
  readonly page?: InputMaybe<PageInput>;
};

export type TaprootAssetDetails = {
  readonly asset_id: Maybe<Scalars['String']['output']>;
  readonly group_key: Maybe<Scalars['String']['output']>;
  readonly id: Scalars['String']['output'];
  readonly universe: Maybe<Scalars['String']['output']>;
};

export type TaprootAssetsQuery = {
  readonly id: Scalars['String']['output'];
  readonly list: Maybe<ReadonlyArray<AvailableTaprootAsset>>;
};

export type ToggleOfferInput = {
  readonly offer_id: Scalars['String']['input'];
};

export type TransactionMutations = {
  readonly create_receive: Maybe<PaymentsTransaction>;
  readonly create_send: Maybe<PaymentsTransaction>;
  readonly id: Scalars['String']['output'];
};


export type TransactionMutationsCreateReceiveArgs = {
  input: CreateReceiveTransactionInput;
};


export type TransactionMutationsCreateSendArgs = {
  input: CreateSendTransactionInput;
};

export type TransactionQueries = {
  readonly find_many: Maybe<FindManyTransactions>;
  readonly find_one: Maybe<PaymentsTransaction>;
  readonly id: Scalars['String']['output'];
};


export type TransactionQueriesFindManyArgs = {
  input: ListTransactionsInput;
};


export type TransactionQueriesFindOneArgs = {
  id?: InputMaybe<Scalars['String']['input']>;
  lightning?: InputMaybe<FindTransactionByLightningInput>;
};

export type UpdateOfferInput = {
  readonly asset_id?: InputMaybe<Scalars['String']['input']>;
  readonly auto_accept?: InputMaybe<Scalars['Boolean']['input']>;
  readonly base_fee?: InputMaybe<Scalars['WholeNumber']['input']>;
  readonly base_fee_cap?: InputMaybe<Scalars['WholeNumber']['input']>;
  readonly conditions?: InputMaybe<ReadonlyArray<OfferConditionInput>>;
  readonly fee_rate?: InputMaybe<Scalars['WholeNumber']['input']>;
  readonly fee_rate_cap?: InputMaybe<Scalars['WholeNumber']['input']>;
  readonly max_size?: InputMaybe<Scalars['WholeNumber']['input']>;
  readonly min_block_length?: InputMaybe<Scalars['WholeNumber']['input']>;
  readonly min_size?: InputMaybe<Scalars['WholeNumber']['input']>;
  readonly offer_id: Scalars['String']['input'];
  readonly onchain_multiplier?: InputMaybe<Scalars['Float']['input']>;
  readonly onchain_priority?: InputMaybe<OnchainPriority>;
  readonly total_size?: InputMaybe<Scalars['WholeNumber']['input']>;
};

export type UpdateServiceApiKeyInput = {
  readonly name: Scalars['String']['input'];
};

export type UpdateWebhookEndpointInput = {
  readonly active?: InputMaybe<Scalars['Boolean']['input']>;
  readonly event_filters?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  readonly id: Scalars['String']['input'];
  readonly url?: InputMaybe<Scalars['String']['input']>;
};

export type UserMarketQueries = {
  readonly id: Scalars['String']['output'];
  readonly offers: UserOfferQueries;
  readonly orders: UserOrderQueries;
};

export type UserOfferQueries = {
  readonly get_offer: Maybe<MarketOffer>;
  readonly id: Scalars['String']['output'];
  readonly offers: Maybe<MarketOffers>;
};


export type UserOfferQueriesGetOfferArgs = {
  offer_id: Scalars['String']['input'];
};


export type UserOfferQueriesOffersArgs = {
  filter?: InputMaybe<OfferFilterInput>;
  page?: InputMaybe<PageInput>;
};

export type UserOrderQueries = {
  readonly get_order: Maybe<MarketOrder>;
  readonly id: Scalars['String']['output'];
  readonly purchases: Maybe<MarketOrders>;
  readonly sales: Maybe<MarketOrders>;
};


export type UserOrderQueriesGetOrderArgs = {
  order_id: Scalars['String']['input'];
};


export type UserOrderQueriesPurchasesArgs = {
  input?: InputMaybe<OrderInput>;
  page?: InputMaybe<PageInput>;
};


export type UserOrderQueriesSalesArgs = {
  input?: InputMaybe<OrderInput>;
  page?: InputMaybe<PageInput>;
};

export type UserQueries = {
  readonly id: Scalars['String']['output'];
  readonly market: UserMarketQueries;
  readonly transactions: UserTransactionQueries;
};

export type UserTransactionQueries = {
  readonly id: Scalars['String']['output'];
  readonly transaction_list: Maybe<MarketTransactionList>;
};


export type UserTransactionQueriesTransactionListArgs = {
  page?: InputMaybe<PageInput>;
};

export type WalletMutations = {
  readonly create: Maybe<PaymentsWallet>;
  readonly delete: Maybe<Scalars['Boolean']['output']>;
  readonly id: Scalars['String']['output'];
};


export type WalletMutationsCreateArgs = {
  input: CreatePaymentsWalletInput;
};


export type WalletMutationsDeleteArgs = {
  id: Scalars['String']['input'];
};

export type WalletQueries = {
  readonly find_many: Maybe<FindManyWallets>;
  readonly find_one: Maybe<PaymentsWallet>;
  readonly id: Scalars['String']['output'];
};


export type WalletQueriesFindManyArgs = {
  input?: InputMaybe<FindManyWalletsInput>;
};


export type WalletQueriesFindOneArgs = {
  id: Scalars['String']['input'];
};

export type WebhookDelivery = {
  readonly attempt_number: Scalars['Int']['output'];
  readonly created_at: Scalars['String']['output'];
  readonly error_message: Maybe<Scalars['String']['output']>;
  readonly http_status: Maybe<Scalars['Int']['output']>;
  readonly id: Scalars['String']['output'];
  readonly next_attempt_at: Maybe<Scalars['String']['output']>;
  readonly status: WebhookDeliveryStatus;
  readonly updated_at: Scalars['String']['output'];
  readonly webhook_endpoint_id: Scalars['String']['output'];
  readonly webhook_event_id: Scalars['String']['output'];
};

export type WebhookDeliveryStatus =
  | 'FAILED'
  | 'IN_PROGRESS'
  | 'PENDING'
  | 'SUCCESS';

export type WebhookEndpoint = {
  readonly active: Scalars['Boolean']['output'];
  readonly created_at: Scalars['String']['output'];
  readonly deactivated_at: Maybe<Scalars['String']['output']>;
  readonly deactivation_reason: Maybe<Scalars['String']['output']>;
  readonly environment_id: Scalars['String']['output'];
  readonly event_filters: ReadonlyArray<Scalars['String']['output']>;
  readonly id: Scalars['String']['output'];
  readonly previous_secret_valid_until: Maybe<Scalars['String']['output']>;
  readonly updated_at: Scalars['String']['output'];
  readonly url: Scalars['String']['output'];
};

export type WebhookEndpointMutations = {
  readonly create: Maybe<CreateWebhookEndpointResult>;
  readonly delete: Maybe<Scalars['Boolean']['output']>;
  readonly id: Scalars['String']['output'];
  readonly rotate_secret: Maybe<CreateWebhookEndpointResult>;
  readonly test: Maybe<WebhookDelivery>;
  readonly update: Maybe<WebhookEndpoint>;
};


export type WebhookEndpointMutationsCreateArgs = {
  input: CreateWebhookEndpointInput;
};


export type WebhookEndpointMutationsDeleteArgs = {
  id: Scalars['String']['input'];
};


export type WebhookEndpointMutationsRotateSecretArgs = {
  id: Scalars['String']['input'];
};


export type WebhookEndpointMutationsTestArgs = {
  id: Scalars['String']['input'];
};


export type WebhookEndpointMutationsUpdateArgs = {
  input: UpdateWebhookEndpointInput;
};

export type WebhookEndpointQueries = {
  readonly available_event_types: Maybe<ReadonlyArray<Scalars['String']['output']>>;
  readonly find_many: Maybe<FindManyWebhookEndpoints>;
  readonly find_one: Maybe<WebhookEndpoint>;
  readonly id: Scalars['String']['output'];
};


export type WebhookEndpointQueriesFindManyArgs = {
  input?: InputMaybe<FindManyWebhookEndpointsInput>;
};


export type WebhookEndpointQueriesFindOneArgs = {
  id: Scalars['String']['input'];
};

export type WebhookEvent = {
  readonly created_at: Scalars['String']['output'];
  readonly deliveries: ReadonlyArray<WebhookDelivery>;
  readonly environment_id: Scalars['String']['output'];
  readonly event_type: Scalars['String']['output'];
  readonly id: Scalars['String']['output'];
  readonly idempotency_key: Scalars['String']['output'];
  readonly payload: Maybe<Scalars['String']['output']>;
  readonly transaction_id: Maybe<Scalars['String']['output']>;
  readonly wallet_id: Maybe<Scalars['String']['output']>;
};

export type WebhookEventMutations = {
  readonly id: Scalars['String']['output'];
  readonly redeliver: Maybe<WebhookDelivery>;
};


export type WebhookEventMutationsRedeliverArgs = {
  endpoint_id: Scalars['String']['input'];
  id: Scalars['String']['input'];
};

export type WebhookEventQueries = {
  readonly find_many: Maybe<FindManyWebhookEvents>;
  readonly find_one: Maybe<WebhookEvent>;
  readonly id: Scalars['String']['output'];
};


export type WebhookEventQueriesFindManyArgs = {
  input: ListWebhookEventsInput;
};


export type WebhookEventQueriesFindOneArgs = {
  id: Scalars['String']['input'];
};
