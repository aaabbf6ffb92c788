(** What an analysis knows of a program, when it is right, and what it claims.  docs/theory.md, "One theorem".

    Rules, joins, heads and exits form one table. Each gives a summary with holes for the numbers that it invents, and
    each node fills the holes with symbols of its own: one symbol, one number for each visit of the node. *)

From Coq Require Import List ZArith.
Import ListNotations.
From Absint Require Import Programs Memo.

Set Implicit Arguments.

Section Analysis.
  Variables input node tag operator value : Type.

  (** The trip that is made, of a loop's head; the trips that were made, of a loop. *)
  Variables trip trips : tag.

  Inductive symbol :=
  | Input (x : input)
  | Own (n : node) (t : tag)
  | Hole (t : tag).

  Definition binding := input -> Z.
  Definition valuation := symbol -> Z.
  Definition extends (sigma : binding) (nu : valuation) := forall x, nu (Input x) = sigma x.
  Definition agree (among : symbol -> Prop) (nu mu : valuation) := forall s, among s -> nu s = mu s.
  Definition speaks_of (among : symbol -> Prop) (p : valuation -> Prop) :=
    forall nu mu, agree among nu mu -> p nu -> p mu.

  Definition is_hole s := match s with Hole _ => True | _ => False end.
  Definition known (before : list node) s :=
    match s with
    | Input _ => True
    | Own n _ => In n before
    | Hole _ => False
    end.
  Definition own n s := match s with Hole t => Own n t | _ => s end.

  (** The domain: states mean values under a valuation. A tag may denote a quantity of the value that its node computes,
      such as the size of an axis, or only be some number. *)
  Record domain := {
    state : Type;
    means : valuation -> state -> value -> Prop;
    rename : (symbol -> symbol) -> state -> state;
    renamed : forall rho nu a v, means nu (rename rho a) v <-> means (fun s => nu (rho s)) a v;
    says : valuation -> state -> bool -> Prop;  (** the condition is true, or false *)
    denotes : tag -> value -> option Z
  }.
  Variable D : domain.

  Record summary := {
    output : state D;
    required : valuation -> Prop;
    defined : valuation -> Prop
  }.
  Definition stated s nu := required s nu /\ defined s nu.
  Definition filled_at n s := {|
    output := rename D (own n) (output s);
    required := fun nu => required s (fun x => nu (own n x));
    defined := fun nu => defined s (fun x => nu (own n x))
  |}.

  (** The table. What a rule may take for granted are facts: declarations, what other rounds found, and the conditions
      of branches and trips. *)
  Record table := {
    facts : Type;
    assumed : facts -> valuation -> Prop;
    rule : facts -> operator -> list (state D) -> summary;
    looked : facts -> operator -> list (state D) -> bool;
    given : facts -> state D -> bool -> facts;
    in_trip : node -> facts -> state D -> facts;
    join : list node -> facts -> state D -> state D -> state D -> summary;
    at_head : list node -> facts -> node -> state D -> state D -> summary;
    at_exit : list node -> facts -> ports node -> (node -> state D) -> summary
  }.
  Variable T : table.
  Variable M : semantics operator value binding.

  (** Numbers for the holes: other symbols keep theirs, and a tag denotes what it denotes. *)
  Definition chosen (nu mu : valuation) v :=
    agree (fun s => ~ is_hole s) mu nu /\ forall t k, denotes D t v = Some k -> mu (Hole t) = k.
  Definition covers_result nu (s : summary) v (such : valuation -> Prop) :=
    exists mu, chosen nu mu v /\ means D mu (output s) v /\ stated s mu /\ such mu.
  Definition anyhow (nu : valuation) := True.

  (** A state as it is stored: without holes. *)
  Definition whole a := forall v, speaks_of (fun s => ~ is_hole s) (fun nu => means D nu a v).

  Record sound_table := {
    says_what_decides : forall nu a v b, means D nu a v -> decides M v b -> ~ says D nu a (negb b);
    says_of_its_symbols : forall among a b,
      (forall v, speaks_of among (fun nu => means D nu a v)) -> speaks_of among (fun nu => says D nu a b);

    rule_is_sound : forall sigma nu F o states vs v,
      extends sigma nu -> assumed T F nu -> Forall whole states -> Forall2 (means D nu) states vs ->
      computes M sigma o vs v ->
      covers_result nu (rule T F o states) v anyhow;
    looks_are_told : looks_decide (rule T) (looked T);

    given_holds : forall nu F a v b,
      assumed T F nu -> means D nu a v -> decides M v b -> assumed T (given T F a b) nu;
    in_trip_holds : forall nu F h a m c k,
      assumed T F nu -> means D nu a m -> enters M m c k -> nu (Own h trip) = Z.of_nat k ->
      assumed T (in_trip T h F a) nu;

    join_is_sound : forall nu before F a yes no v (b : bool) w,
      assumed T F nu -> means D nu a v -> decides M v b ->
      whole a -> whole (if b then yes else no) -> means D nu (if b then yes else no) w ->
      covers_result nu (join T before F a yes no) w anyhow;
    head_starts_soundly : forall nu before F h a b v,
      assumed T F nu -> whole a -> means D nu a v ->
      covers_result nu (at_head T before F h a b) v (fun mu => mu (Hole trip) = 0%Z);
    head_goes_on_soundly : forall nu before F h a b v k,
      assumed T F nu -> nu (Own h trip) = Z.of_nat k -> whole b -> means D nu b v ->
      covers_result nu (at_head T before F h a b) v (fun mu => mu (Hole trip) = Z.of_nat (S k));
    exit_is_sound : forall nu before F p (s : node -> state D) m c v scanned w,
      assumed T F nu ->
      nu (Own (head p) trip) = Z.of_nat (length scanned) ->
      whole (s (limit p)) -> means D nu (s (limit p)) m ->
      (forall i, i < length scanned -> exists c', enters M m c' i) ->
      (exists mu, agree (known before) nu mu /\
        means D mu (s (match scanned with [] => first p | _ => go p end)) c) ->
      whole (s (head p)) -> means D nu (s (head p)) v ->
      (forall i x, nth_error scanned i = Some x ->
        exists mu, agree (known before) nu mu /\ mu (Own (head p) trip) = Z.of_nat i /\ means D mu (s (scan p)) x) ->
      stops M m c (length scanned) -> leaves M (length scanned) v scanned w ->
      covers_result nu (at_exit T before F p s) w (fun mu => mu (Hole trips) = Z.of_nat (length scanned))
  }.

  (** What an analysis found: the facts that it took for granted, a state for each node, and what the table gave. *)
  Record analysis := {
    granted : facts T;
    solution : node -> state D;
    found : node -> summary
  }.
  Variable A : analysis.

  (** What an outcome fixes: the input symbols, and what tags denote at nodes of the main graph. *)
  Definition fixed (sigma : binding) (e : env node value) (nu : valuation) :=
    extends sigma nu /\
    forall n v t k, In (n, Some v) e -> denotes D t v = Some k -> nu (Own n t) = k.
  Definition about before F :=
    forall sigma e nu mu, fixed sigma e nu -> fixed sigma e mu -> agree (known before) nu mu ->
    assumed T F nu -> assumed T F mu.

  Definition summary_at n := filled_at n (found A n).

  (** The state of a node speaks of symbols that are visible there, and is above what the table gives: the
      post-fixpoint. *)
  Definition accepts F before n :=
    ~ In n before /\
    (forall v, speaks_of (fun s => known before s \/ is_hole s) (fun nu => means D nu (output (found A n)) v)) /\
    speaks_of (fun s => known before s \/ is_hole s) (stated (found A n)) /\
    (forall v, speaks_of (known (n :: before)) (fun nu => means D nu (solution A n) v)) /\
    forall nu v,
      assumed T F nu -> stated (summary_at n) nu -> means D nu (output (summary_at n)) v -> means D nu (solution A n) v.

  Variable depth : node -> nat.
  Definition checked_here F before level s :=
    depth (name s) = level /\ accepts F before (name s) /\
    match s with
    | Op n o reads => incl reads before /\ obtained (rule T) (looked T) F o (map (solution A) reads) (found A n)
    | If n c _ y _ z =>
        In c before /\ found A n = join T before F (solution A c) (solution A y) (solution A z)
    | Loop n p _ =>
        incl [limit p; first p; start p] before /\ depth (head p) = S level /\ accepts F before (head p) /\
        found A (head p) = at_head T before F (head p) (solution A (start p)) (solution A (back p)) /\
        found A n = at_exit T before F p (solution A)
    end.

  (** A property of all statements, under the facts of their scope, but for branches that no run takes. *)
  Section Everywhere.
    Variable q : facts T -> list node -> nat -> statement node operator -> Prop.
    Definition taken_under F c b :=
      exists sigma nu v, extends sigma nu /\ assumed T F nu /\ means D nu (solution A c) v /\ decides M v b.
    Fixpoint everywhere F before level (b : block node operator) : Prop :=
      match b with
      | Done => True
      | Then s rest => q F before level s /\ inside F before level s /\ everywhere F (name s :: before) level rest
      end
    with inside F before level s : Prop :=
      match s with
      | Op _ _ _ => True
      | If _ c yes _ no _ =>
          let branch b := given T F (solution A c) b in
          (taken_under F c true -> about before (branch true) /\ everywhere (branch true) before (S level) yes) /\
          (taken_under F c false -> about before (branch false) /\ everywhere (branch false) before (S level) no)
      | Loop _ p body =>
          let F' := in_trip T (head p) F (solution A (limit p)) in
          about (head p :: before) F' /\ everywhere F' (head p :: before) (S level) body
      end.
  End Everywhere.

  Definition verified := everywhere checked_here (granted A) [] 0.

  (** The constraints, of needed nodes: those of branches and bodies under their guards, if they speak of numbers
      outside. *)
  Variable needed : node -> Prop.
  Inductive collected : list node -> block node operator -> (valuation -> Prop) -> Prop :=
  | collected_here before s rest :
      needed (name s) -> collected before (Then s rest) (stated (summary_at (name s)))
  | collected_later before s rest p :
      collected (name s :: before) rest p -> collected before (Then s rest) p
  | collected_branch before n c yes y no z rest (b : bool) p :
      needed n -> collected before (if b then yes else no) p -> speaks_of (known before) p ->
      collected before (Then (If n c yes y no z) rest) (fun nu => says D nu (solution A c) b -> p nu)
  | collected_body before n q body rest p :
      needed n -> collected (head q :: before) body p -> speaks_of (known before) p ->
      collected before (Then (Loop n q body) rest) (fun nu => (1 <= nu (Own n trips))%Z -> p nu).

  Definition constraints program nu := forall p, collected [] program p -> p nu.

  (** The claims: each value that is visible is one that the state of its node means, and what the node states is
      true. *)
  Definition covers nu (e : env node value) :=
    forall n v, In (n, Some v) e -> means D nu (solution A n) v /\ stated (summary_at n) nu.
  Fixpoint covers_around nu (K : list (frame node operator value)) :=
    match K with
    | [] => True
    | Within _ _ outer _ :: K =>
        exists around, agree (known (map fst outer)) nu around /\ covers around outer /\ covers_around around K
    end.
  Definition claims_hold sigma (c : config node operator value) :=
    exists nu, extends sigma nu /\ covers nu (snd (fst c)) /\ covers_around nu (snd c).

  (** Legality: what an operator requires is true of the binding, whatever numbers were invented, and its rule is
      complete for these states: it requires all that the operator needs. *)
  Variable runs : binding -> operator -> list value -> Prop.
  Definition legal_here sigma F (before : list node) (level : nat) s :=
    match s with
    | Op n o reads =>
        (forall nu, extends sigma nu -> assumed T F nu -> required (summary_at n) nu) /\
        (forall nu vs, extends sigma nu -> assumed T F nu -> Forall2 (means D nu) (map (solution A) reads) vs ->
          required (found A n) nu -> runs sigma o vs)
    | _ => True
    end.
End Analysis.

Arguments Input {input node tag}.
Arguments Own {input node tag}.
Arguments Hole {input node tag}.
