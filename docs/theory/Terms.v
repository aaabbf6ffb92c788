(** An instance: terms with broadcasts and bounds; rules of Add, Concat and Reshape; branches and loops.
    docs/theory.md, "One theorem"; absint/lattices, absint/transfer.

    Axes are listed from the last one on, so that shapes broadcast from the front of their lists. Of elements a value
    has one integer, which conditions, numbers of trips and other scalars are. *)

From Coq Require Import List ZArith Lia Bool.
Import ListNotations.
From Absint Require Import Programs Memo Analysis.

Set Implicit Arguments.
Local Open Scope Z_scope.

Inductive tag := Axis (i : nat) | Item | Trip | Trips.
Record value := { sizes : list Z; item : Z }.
Definition symbol := Analysis.symbol nat nat tag.
Definition valuation := Analysis.valuation nat nat tag.

(** * The domain *)

Inductive term :=
| Const (k : Z)
| Sym (s : symbol)
| Plus (a b : term)
| Times (a b : term)
| Broadcast (a b : term).

Definition broadcast a b := if a =? 1 then b else a.

Fixpoint number (nu : valuation) t :=
  match t with
  | Const k => k
  | Sym s => nu s
  | Plus a b => number nu a + number nu b
  | Times a b => number nu a * number nu b
  | Broadcast a b => broadcast (number nu a) (number nu b)
  end.

Fixpoint within (p : symbol -> bool) t :=
  match t with
  | Const _ => true
  | Sym s => p s
  | Plus a b | Times a b | Broadcast a b => within p a && within p b
  end.

Lemma same_number p (nu mu : valuation) t :
  (forall s, p s = true -> nu s = mu s) -> within p t = true -> number nu t = number mu t.
Proof.
  intro same. induction t; simpl; rewrite ?andb_true_iff; intuition auto; f_equal; auto.
Qed.

Inductive dim := Known (t : term) | Between (low high : Z).
Inductive state := Any | Tensor (dims : list dim) (element : dim).

Definition is_size nu d k :=
  match d with
  | Known t => number nu t = k
  | Between low high => low <= k <= high
  end.
Definition means nu a v :=
  match a with
  | Any => True
  | Tensor dims element => Forall2 (is_size nu) dims (sizes v) /\ is_size nu element (item v)
  end.

Fixpoint rename_term (rho : symbol -> symbol) t :=
  match t with
  | Const k => Const k
  | Sym s => Sym (rho s)
  | Plus a b => Plus (rename_term rho a) (rename_term rho b)
  | Times a b => Times (rename_term rho a) (rename_term rho b)
  | Broadcast a b => Broadcast (rename_term rho a) (rename_term rho b)
  end.
Definition rename_dim rho d := match d with Known t => Known (rename_term rho t) | _ => d end.
Definition rename rho a :=
  match a with
  | Any => Any
  | Tensor dims element => Tensor (map (rename_dim rho) dims) (rename_dim rho element)
  end.

Lemma renamed_dim rho nu d k : is_size nu (rename_dim rho d) k <-> is_size (fun s => nu (rho s)) d k.
Proof.
  destruct d as [t |]; simpl; [| tauto].
  replace (number nu (rename_term rho t)) with (number (fun s => nu (rho s)) t); [tauto |].
  induction t; simpl; congruence.
Qed.

Lemma renamed rho nu a v : means nu (rename rho a) v <-> means (fun s => nu (rho s)) a v.
Proof.
  destruct a as [| dims element]; simpl; [tauto |]. rewrite renamed_dim.
  enough (forall ks, Forall2 (is_size nu) (map (rename_dim rho) dims) ks <->
    Forall2 (is_size (fun s => nu (rho s))) dims ks) by firstorder.
  induction dims as [| d dims IH]; intro ks; split; intro each; inversion each; subst; constructor;
    try (apply renamed_dim; assumption); apply IH; assumption.
Qed.

Definition says nu a (b : bool) :=
  match a with
  | Tensor [] (Known t) => if b then number nu t <> 0 else number nu t = 0
  | _ => False
  end.

Definition denotes t v :=
  match t with
  | Axis i => nth_error (sizes v) i
  | Item => Some (item v)
  | Trip | Trips => None
  end.

Definition terms : domain nat nat tag value :=
  {| Analysis.state := state; Analysis.means := means; Analysis.rename := rename; Analysis.renamed := renamed;
     Analysis.says := says; Analysis.denotes := denotes |}.

(** * What runs do *)

Inductive operator :=
| Declared (axes : list nat)  (** an input whose sizes have these names *)
| Number  (** a scalar of data *)
| Add
| Concat  (** along the last axis *)
| Reshape (columns : Z).  (** to [-1, columns] *)

Fixpoint broadcasts xs ys zs :=
  match xs, ys, zs with
  | [], _, _ => zs = ys
  | _, [], _ => zs = xs
  | x :: xs, y :: ys, z :: zs => (x = y \/ x = 1 \/ y = 1) /\ z = broadcast x y /\ broadcasts xs ys zs
  | _, _, _ => False
  end.

Definition product := fold_right Z.mul 1.

Definition computes (sigma : binding nat) o vs v :=
  match o, vs with
  | Declared axes, [] => sizes v = map sigma axes
  | Number, [] => sizes v = []
  | Add, [x; y] => broadcasts (sizes x) (sizes y) (sizes v)
  | Concat, [x; y] =>
      match sizes x, sizes y with
      | a :: xs, b :: ys => xs = ys /\ sizes v = a + b :: xs
      | _, _ => False
      end
  | Reshape k, [x] => 0 < k /\ exists n, n * k = product (sizes x) /\ sizes v = [k; n]
  | _, _ => False
  end.

Definition decides v b := b = negb (item v =? 0).
Definition enters m c k := Z.of_nat k < item m /\ item c <> 0.

Definition semantics : Programs.semantics operator value (binding nat) :=
  {| Programs.computes := computes; Programs.decides := decides; Programs.enters := enters;
     stops := fun m c k => ~ enters m c k; leaves := fun _ v _ w => w = v |}.

(** * The rules *)

Definition nothing (nu : valuation) := True.
Definition fresh t := Known (Sym (Hole t)).
Definition tensor dims (required defined : valuation -> Prop) : summary terms :=
  {| output := Tensor dims (fresh Item) : Analysis.state terms; required := required; defined := defined |}.
Definition unknown : summary terms :=
  {| output := Any : Analysis.state terms; required := nothing; defined := nothing |}.

Lemma symbol_eq : forall s s' : symbol, {s = s'} + {s <> s'}.
Proof. unfold symbol. repeat decide equality. Defined.
Lemma term_eq : forall t t' : term, {t = t'} + {t <> t'}.
Proof. decide equality; auto using symbol_eq, Z.eq_dec. Defined.

Definition bounds d := match d with Known (Const k) => Some (k, k) | Known _ => None | Between l h => Some (l, h) end.

(** Two sizes that broadcast: one where they are the same term or one is 1, else the term, or bounds. *)
Definition is_one d := match d with Known (Const k) => k =? 1 | _ => false end.
Definition meet i a b :=
  if is_one a then b else if is_one b then a else
  match a, b with
  | Known s, Known t => if term_eq s t then a else Known (Broadcast s t)
  | _, _ =>
      match bounds a, bounds b with
      | Some (l, h), Some (l', h') => Between (Z.min l l') (Z.max h h')
      | _, _ => fresh (Axis i)
      end
  end.
Definition may_meet a b nu :=
  match a, b with
  | Known s, Known t => number nu s = number nu t \/ number nu s = 1 \/ number nu t = 1
  | _, _ => True
  end.

Fixpoint meets i xs ys :=
  match xs, ys with
  | [], ys => ys
  | xs, [] => xs
  | x :: xs, y :: ys => meet i x y :: meets (S i) xs ys
  end.
Fixpoint may_all_meet xs ys nu :=
  match xs, ys with
  | x :: xs, y :: ys => may_meet x y nu /\ may_all_meet xs ys nu
  | _, _ => True
  end.

Definition same_size a b nu :=
  match a, b with
  | Known s, Known t => number nu s = number nu t
  | _, _ => True
  end.
Definition total d e :=
  match d, e with
  | Known s, Known t => Known (Plus s t)
  | _, _ => fresh (Axis 0)
  end.

Fixpoint product_of ds :=
  match ds with
  | [] => Some (Const 1)
  | Known t :: ds => match product_of ds with Some p => Some (Times t p) | None => None end
  | _ => None
  end.

Definition rule (o : operator) (states : list state) : summary terms :=
  match o, states with
  | Declared axes, [] => tensor (map (fun x => Known (Sym (Input x))) axes) nothing nothing
  | Number, [] => tensor [] nothing nothing
  | Add, [Tensor xs _; Tensor ys _] => tensor (meets 0 xs ys) (may_all_meet xs ys) nothing
  | Concat, [Tensor (x :: xs) _; Tensor (y :: ys) _] =>
      tensor (total x y :: xs) (fun nu => length xs = length ys /\
        Forall (fun d => same_size (fst d) (snd d) nu) (combine xs ys))
        nothing
  | Reshape k, [Tensor xs _] =>
      match product_of xs with
      | Some p => tensor [Known (Const k); fresh (Axis 1)] (fun nu => number nu p mod k = 0)
                    (fun nu => nu (Hole (Axis 1)) * k = number nu p)
      | None => tensor [Known (Const k); fresh (Axis 1)] nothing nothing
      end
  | _, _ => unknown
  end.

(** Numbers for the holes are what the value shows; trips are counted. *)
Definition fill (nu : valuation) v (k : Z) : valuation := fun s =>
  match s with
  | Hole (Axis i) => nth i (sizes v) 0
  | Hole Item => item v
  | Hole _ => k
  | _ => nu s
  end.

Lemma fill_is_chosen nu v k : chosen terms nu (fill nu v k) v.
Proof.
  split.
  - intros [x | n t | t] other; auto. now destruct other.
  - intros [i | | |] n is; simpl in *; try congruence. now apply nth_error_nth.
Qed.

Lemma kept_by_fill nu a v w k : whole terms a -> means nu a v -> means (fill nu w k) a v.
Proof.
  intros is_whole. apply is_whole. intros [x | n t | t] other; auto. now destruct other.
Qed.

Lemma one_is_one nu d k : is_one d = true -> is_size nu d k -> k = 1.
Proof. destruct d as [[] |]; simpl; try discriminate. intros one%Z.eqb_eq. lia. Qed.

Lemma bounded nu d k l h : bounds d = Some (l, h) -> is_size nu d k -> l <= k <= h.
Proof. destruct d as [[] |]; simpl; try discriminate; intros [= <- <-]; lia. Qed.

Lemma meet_is_sound nu i x y a b :
  is_size nu x a -> is_size nu y b -> a = b \/ a = 1 \/ b = 1 -> nu (Hole (Axis i)) = broadcast a b ->
  is_size nu (meet i x y) (broadcast a b).
Proof.
  intros is_x is_y either axis. unfold meet.
  assert (one_of : broadcast a b = a \/ broadcast a b = b) by (unfold broadcast; destruct (a =? 1); auto).
  destruct (is_one x) eqn:one; [apply (one_is_one _ _ _ one) in is_x; subst; exact is_y |].
  destruct (is_one y) eqn:one'.
  { apply (one_is_one _ _ _ one') in is_y. subst b. unfold broadcast. destruct (Z.eqb_spec a 1); subst; auto. }
  assert (between : forall l h l' h', bounds x = Some (l, h) -> bounds y = Some (l', h') ->
    is_size nu (Between (Z.min l l') (Z.max h h')) (broadcast a b)).
  { intros l h l' h' of_x of_y. apply (bounded _ _ _ of_x) in is_x. apply (bounded _ _ _ of_y) in is_y. simpl. lia. }
  assert (bounds_or_not : is_size nu match bounds x, bounds y with
      | Some (l, h), Some (l', h') => Between (Z.min l l') (Z.max h h') | _, _ => fresh (Axis i) end (broadcast a b)).
  { destruct (bounds x) as [[l h] |], (bounds y) as [[l' h'] |]; try exact axis. now apply between. }
  destruct x as [s |], y as [t |]; try exact bounds_or_not.
  simpl in is_x, is_y. subst. destruct (term_eq s t) as [-> |]; [| reflexivity].
  simpl. unfold broadcast. destruct (number nu t =? 1); reflexivity.
Qed.

Lemma all_meet nu xs : forall ys i sx sy sz, Forall2 (is_size nu) xs sx -> Forall2 (is_size nu) ys sy ->
  broadcasts sx sy sz -> (forall j z, nth_error sz j = Some z -> nu (Hole (Axis (i + j))) = z) ->
  Forall2 (is_size nu) (meets i xs ys) sz /\ may_all_meet xs ys nu.
Proof.
  induction xs as [| x xs IH]; intros ys i sx sy sz of_x of_y together axes.
  - inversion of_x; subst. simpl in together. subst. split; destruct ys; simpl; auto.
  - destruct ys as [| y ys].
    + inversion of_x; inversion of_y; subst. simpl in together. subst. split; simpl; auto.
    + inversion of_x as [| ? a ? sx' is_x of_xs]; inversion of_y as [| ? b ? sy' is_y of_ys]; subst.
      destruct sz as [| z sz]; simpl in together; [contradiction |]. destruct together as (either & -> & together).
      assert (first := axes 0%nat _ eq_refl). rewrite Nat.add_0_r in first.
      destruct (IH ys (S i) sx' sy' sz of_xs of_ys together) as [rest may].
      { intros j z is. rewrite <- (axes (S j) z is). f_equal. f_equal. f_equal. lia. }
      simpl. split; [constructor; auto using meet_is_sound | split; auto].
      destruct x, y; simpl in *; auto. subst. exact either.
Qed.

Lemma axes_of_fill nu v k j z : nth_error (sizes v) j = Some z -> fill nu v k (Hole (Axis (0 + j))) = z.
Proof. simpl. apply nth_error_nth. Qed.

Lemma same_sizes nu xs ys ks : Forall2 (is_size nu) xs ks -> Forall2 (is_size nu) ys ks ->
  length xs = length ys /\ Forall (fun d => same_size (fst d) (snd d) nu) (combine xs ys).
Proof.
  intro of_xs. revert ys. induction of_xs as [| x k xs ks is_x _ IH]; intros ys of_ys;
    inversion of_ys as [| y ? ys' ? is_y of_ys']; subst; simpl.
  - auto.
  - destruct (IH ys' of_ys') as [same each]. split; [congruence | constructor; [| exact each]].
    destruct x, y; simpl in *; congruence || exact I.
Qed.

Lemma product_is_sound nu xs ks p : Forall2 (is_size nu) xs ks -> product_of xs = Some p -> number nu p = product ks.
Proof.
  intro of_xs. revert p. induction of_xs as [| x k xs ks is_x _ IH]; simpl; intros p is; [now injection is as <- |].
  destruct x as [t |]; [| discriminate]. destruct (product_of xs) as [rest |]; [| discriminate].
  injection is as <-. simpl in *. rewrite (IH rest eq_refl). congruence.
Qed.

Lemma rules_are_sound sigma nu o (states : list state) vs v :
  extends sigma nu -> Forall (whole terms) states -> Forall2 (means nu) states vs -> computes sigma o vs v ->
  covers_result nu (rule o states) v (@anyhow _ _ _).
Proof.
  intros extended wholes meant computed. exists (fill nu v 0). split; [apply fill_is_chosen |].
  assert (kept : Forall2 (means (fill nu v 0)) states vs).
  { clear computed. induction meant as [| a w states vs is_a _ IH]; constructor; inversion wholes; subst;
    auto using kept_by_fill. }
  assert (any : means (fill nu v 0) Any v /\ (nothing (fill nu v 0) /\ nothing (fill nu v 0)) /\
    True) by (unfold nothing; simpl; auto).
  destruct o as [axes | | | | k].
  - destruct kept as [|]; simpl in computed; [| contradiction].
    split; [| repeat split]. split; [| reflexivity]. rewrite computed. clear -extended.
    induction axes as [| x axes IH]; simpl; constructor; auto. apply extended.
  - destruct kept as [|]; simpl in computed; [| contradiction].
    split; [| repeat split]. split; [| reflexivity]. rewrite computed. constructor.
  - destruct kept as [| a x ? ? is_a [| b y ? ? is_b [|]]]; simpl in computed; try contradiction.
    destruct a as [| xs ex], b as [| ys ey]; try exact any. destruct is_a as [is_a _], is_b as [is_b _].
    destruct (@all_meet (fill nu v 0) xs ys 0 _ _ (sizes v) is_a is_b computed) as [sized may]; [apply axes_of_fill |].
    split; [split; [exact sized | reflexivity] | repeat split; exact may].
  - destruct kept as [| a x ? ? is_a [| b y ? ? is_b [|]]]; simpl in computed; try contradiction.
    destruct a as [| [| d xs] ex], b as [| [| e ys] ey]; try exact any. destruct is_a as [is_a _], is_b as [is_b _].
    destruct (sizes x) as [| m sx]; [contradiction |]. destruct (sizes y) as [| n sy]; [contradiction |].
    destruct computed as [<- sized]. inversion is_a as [| ? ? ? ? is_d of_xs];
      inversion is_b as [| ? ? ? ? is_e of_ys]; subst.
    split; [split; [| reflexivity] | split; [split; [apply (same_sizes of_xs of_ys) | exact I] | exact I]].
    rewrite sized. constructor; [| exact of_xs].
    destruct d as [s |], e as [t |]; simpl in *; rewrite ?sized; simpl; congruence.
  - destruct kept as [| a x ? ? is_a [|]]; simpl in computed; try contradiction.
    destruct a as [| xs ex]; try exact any. destruct is_a as [is_a _].
    destruct computed as (positive & n & is_product & sized).
    assert (shaped : Forall2 (is_size (fill nu v 0)) [Known (Const k); fresh (Axis 1)] (sizes v)).
    { rewrite sized. repeat constructor. simpl. now rewrite sized. }
    simpl. destruct (product_of xs) as [p |] eqn:is_p; (split; [split; [exact shaped | reflexivity] | repeat split]).
    + simpl. rewrite (product_is_sound is_a is_p), <- is_product. apply Z.mod_mul. lia.
    + simpl. rewrite (product_is_sound is_a is_p), sized. simpl. exact is_product.
Qed.
